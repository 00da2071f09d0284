# SPDX-License-Identifier: Apache-2.0
"""The functions of ``acl`` that do not belong to the runtime: models, operators, BLAS, media, feature retrieval.

``dir()`` lists them and they can be looked up, so that a program that only mentions them can be imported; calling one
raises :class:`~ascend_rt.errors.NotSupported`. The names are those of the vendor's method tables (repository
hicann/runtime, folder ``python/pyACL``, commit 134e2edb8).
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NoReturn

from ascend_rt.errors import NotSupported

_SUBJECTS = {
    "acl": "tensor descriptions",
    "acl.mdl": "models",
    "acl.op": "operators",
    "acl.blas": "matrix products",
    "acl.media": "images and videos",
    "acl.himpi": "images and videos",
    "acl.fv": "feature retrieval",
}

_TABLES = {
    "acl": """
        create_tensor_desc destroy_tensor_desc get_tensor_desc_address get_tensor_desc_by_index get_tensor_desc_dim
        get_tensor_desc_dim_range get_tensor_desc_dim_v2 get_tensor_desc_element_count get_tensor_desc_format
        get_tensor_desc_name get_tensor_desc_num_dims get_tensor_desc_size get_tensor_desc_type set_tensor_const
        set_tensor_desc_name set_tensor_dynamic_input set_tensor_format set_tensor_origin_format
        set_tensor_origin_shape set_tensor_place_ment set_tensor_shape set_tensor_shape_range
        set_tensor_storage_format set_tensor_storage_shape set_tensor_value_range trans_tensor_desc_format
    """,
    "acl.mdl": """
        add_dataset_buffer bundle_get_model_id bundle_get_model_num bundle_load_from_file bundle_load_from_mem
        bundle_unload create_aipp create_and_get_op_desc create_config_handle create_dataset create_desc
        create_exec_config_handle destroy_aipp destroy_config_handle destroy_dataset destroy_desc
        destroy_exec_config_handle execute execute_async execute_v2 get_aipp_data_size get_aipp_type
        get_cur_output_dims get_dataset_buffer get_dataset_num_buffers
        get_dataset_tensor_desc get_desc get_desc_from_file get_desc_from_mem get_dynamic_batch get_dynamic_hw
        get_first_aipp_info get_input_data_type get_input_dims get_input_dims_range get_input_dims_v2
        get_input_dynamic_dims get_input_dynamic_gear_count get_input_format get_input_index_by_name
        get_input_name_by_index get_input_size_by_index get_num_inputs get_num_outputs get_op_attr
        get_output_data_type get_output_dims get_output_format get_output_index_by_name get_output_name_by_index
        get_output_size_by_index get_tensor_real_name load_from_file load_from_file_with_mem
        load_from_file_with_q load_from_mem load_from_mem_with_mem load_from_mem_with_q load_with_config query_size
        query_size_from_mem set_aipp_ax_swap_switch set_aipp_by_input_index set_aipp_crop_params set_aipp_csc_params
        set_aipp_dtc_pixel_mean set_aipp_dtc_pixel_min set_aipp_input_format set_aipp_padding_params
        set_aipp_pixel_var_reci set_aipp_rbuv_swap_switch set_aipp_scf_params set_aipp_src_image_size set_config_opt
        set_dataset_tensor_desc set_dynamic_batch_size set_dynamic_hw_size set_exec_config_opt
        set_input_aipp set_input_dynamic_dims unload
    """,
    "acl.op": """
        cast create_attr create_handle create_handle_for_cast create_kernel destroy_attr destroy_handle execute
        execute_v2 execute_with_handle infer_shape load register_compile_func set_attr_bool set_attr_data_type
        set_attr_float set_attr_int set_attr_list_bool set_attr_list_data_type set_attr_list_float set_attr_list_int
        set_attr_list_list_int set_attr_list_string set_attr_string set_kernel_args set_kernel_workspace_sizes
        set_max_op_queue_num set_model_dir unregister_compile_func update_params
    """,
    "acl.blas": """
        create_handle_for_gemm_ex create_handle_for_gemv_ex create_handle_for_hgemm create_handle_for_hgemv
        create_handle_for_s8gemm create_handle_for_s8gemv gemm_ex gemv_ex hgemm hgemv s8gemm s8gemv
    """,
    "acl.media": """
        dvpp_clear_hist dvpp_create_batch_pic_desc dvpp_create_border_config dvpp_create_channel
        dvpp_create_channel_desc dvpp_create_hist dvpp_create_jpege_config dvpp_create_lut_map dvpp_create_pic_desc
        dvpp_create_resize_config dvpp_create_roi_config dvpp_create_stream_desc dvpp_destroy_batch_pic_desc
        dvpp_destroy_border_config dvpp_destroy_channel dvpp_destroy_channel_desc dvpp_destroy_hist
        dvpp_destroy_jpege_config dvpp_destroy_lut_map dvpp_destroy_pic_desc dvpp_destroy_resize_config
        dvpp_destroy_roi_config dvpp_destroy_stream_desc dvpp_get_border_config_border_type
        dvpp_get_border_config_bottom dvpp_get_border_config_left dvpp_get_border_config_right
        dvpp_get_border_config_top dvpp_get_border_config_value dvpp_get_channel_desc_channel_id
        dvpp_get_channel_desc_param dvpp_get_hist_data dvpp_get_hist_dims dvpp_get_hist_ret_code
        dvpp_get_jpege_config_level dvpp_get_lut_map_data dvpp_get_lut_map_dims dvpp_get_pic_desc
        dvpp_get_pic_desc_data dvpp_get_pic_desc_format dvpp_get_pic_desc_height dvpp_get_pic_desc_height_stride
        dvpp_get_pic_desc_ret_code dvpp_get_pic_desc_size dvpp_get_pic_desc_width dvpp_get_pic_desc_width_stride
        dvpp_get_resize_config_interpolation dvpp_get_stream_desc_data dvpp_get_stream_desc_eos
        dvpp_get_stream_desc_format dvpp_get_stream_desc_ret_code dvpp_get_stream_desc_size
        dvpp_get_stream_desc_timestamp dvpp_jpeg_decode_async dvpp_jpeg_encode_async dvpp_jpeg_get_image_info
        dvpp_jpeg_get_image_info_v2 dvpp_jpeg_predict_dec_size dvpp_jpeg_predict_enc_size
        dvpp_malloc_with_cfg dvpp_png_decode_async dvpp_png_get_image_info dvpp_png_predict_dec_size
        dvpp_set_border_config_border_type dvpp_set_border_config_bottom dvpp_set_border_config_left
        dvpp_set_border_config_right dvpp_set_border_config_top dvpp_set_border_config_value
        dvpp_set_channel_desc_mode dvpp_set_channel_desc_param dvpp_set_jpege_config_level dvpp_set_pic_desc_data
        dvpp_set_pic_desc_format dvpp_set_pic_desc_height dvpp_set_pic_desc_height_stride dvpp_set_pic_desc_ret_code
        dvpp_set_pic_desc_size dvpp_set_pic_desc_width dvpp_set_pic_desc_width_stride
        dvpp_set_resize_config_interpolation dvpp_set_roi_config dvpp_set_roi_config_bottom dvpp_set_roi_config_left
        dvpp_set_roi_config_right dvpp_set_roi_config_top dvpp_set_stream_desc_data dvpp_set_stream_desc_eos
        dvpp_set_stream_desc_format dvpp_set_stream_desc_ret_code dvpp_set_stream_desc_size
        dvpp_set_stream_desc_timestamp dvpp_vpc_batch_crop_and_paste_async dvpp_vpc_batch_crop_async
        dvpp_vpc_batch_crop_resize_async dvpp_vpc_batch_crop_resize_make_border_async
        dvpp_vpc_batch_crop_resize_paste_async dvpp_vpc_calc_hist_async dvpp_vpc_convert_color_async
        dvpp_vpc_crop_and_paste_async dvpp_vpc_crop_async dvpp_vpc_crop_resize_async dvpp_vpc_crop_resize_paste_async
        dvpp_vpc_equalize_hist_async dvpp_vpc_make_border_async dvpp_vpc_pyr_down_async dvpp_vpc_resize_async
        vdec_create_channel vdec_create_channel_desc vdec_create_frame_config vdec_destroy_channel
        vdec_destroy_channel_desc vdec_destroy_frame_config vdec_get_channel_desc_bit_depth
        vdec_get_channel_desc_callback vdec_get_channel_desc_channel_id vdec_get_channel_desc_entype
        vdec_get_channel_desc_out_mode vdec_get_channel_desc_out_pic_format vdec_get_channel_desc_out_pic_height
        vdec_get_channel_desc_out_pic_width vdec_get_channel_desc_param vdec_get_channel_desc_ref_frame_num
        vdec_get_channel_desc_thread_id vdec_send_frame vdec_send_skipped_frame vdec_set_channel_desc_bit_depth
        vdec_set_channel_desc_callback vdec_set_channel_desc_channel_id vdec_set_channel_desc_entype
        vdec_set_channel_desc_out_mode vdec_set_channel_desc_out_pic_format vdec_set_channel_desc_out_pic_height
        vdec_set_channel_desc_out_pic_width vdec_set_channel_desc_param vdec_set_channel_desc_ref_frame_num
        vdec_set_channel_desc_thread_id venc_create_channel venc_create_channel_desc venc_create_frame_config
        venc_destroy_channel venc_destroy_channel_desc venc_destroy_frame_config venc_get_channel_desc_buf_addr
        venc_get_channel_desc_buf_size venc_get_channel_desc_callback venc_get_channel_desc_channel_id
        venc_get_channel_desc_entype venc_get_channel_desc_key_frame_interval venc_get_channel_desc_max_bit_rate
        venc_get_channel_desc_param venc_get_channel_desc_pic_format venc_get_channel_desc_pic_height
        venc_get_channel_desc_pic_width venc_get_channel_desc_rc_mode venc_get_channel_desc_src_rate
        venc_get_channel_desc_thread_id venc_get_frame_config_eos venc_get_frame_config_force_i_frame venc_send_frame
        venc_set_channel_desc_buf_addr venc_set_channel_desc_buf_size venc_set_channel_desc_callback
        venc_set_channel_desc_entype venc_set_channel_desc_key_frame_interval venc_set_channel_desc_max_bit_rate
        venc_set_channel_desc_param venc_set_channel_desc_pic_format venc_set_channel_desc_pic_height
        venc_set_channel_desc_pic_width venc_set_channel_desc_rc_mode venc_set_channel_desc_src_rate
        venc_set_channel_desc_thread_id venc_set_frame_config_eos venc_set_frame_config_force_i_frame
    """,
    "acl.himpi": """
        dvpp_free dvpp_get_image_info dvpp_get_version dvpp_malloc png_get_image_info pngd_create_chn
        pngd_destroy_chn pngd_get_image_data pngd_send_stream sys_close_epoll sys_create_epoll sys_ctl_epoll sys_exit
        sys_get_chn_csc_matrix sys_get_image_align_info sys_init sys_set_chn_csc_matrix sys_wait_epoll vdec_close_fd
        vdec_create_chn vdec_destroy_chn vdec_get_chn_attr vdec_get_chn_param vdec_get_display_mode vdec_get_fd
        vdec_get_frame vdec_get_jpegd_output_info vdec_get_pic_buf_size vdec_get_protocol_param vdec_get_tmv_buf_size
        vdec_query_status vdec_release_frame vdec_reset_chn vdec_send_stream vdec_set_chn_attr vdec_set_chn_param
        vdec_set_display_mode vdec_set_jpegd_precision_mode vdec_set_protocol_param vdec_start_recv_stream
        vdec_stop_recv_stream venc_close_fd venc_compact_jpeg_tables venc_create_chn venc_destroy_chn
        venc_get_chn_attr venc_get_chn_param venc_get_cu_pred venc_get_fd venc_get_h264_vui venc_get_h265_vui
        venc_get_intra_refresh venc_get_jpeg_huffman_param venc_get_jpeg_param venc_get_jpege_predicted_size
        venc_get_mod_param venc_get_qpmap_size venc_get_qpmap_stride venc_get_rc_param venc_get_ref_param
        venc_get_roi_attr venc_get_scene_mode venc_get_slice_split venc_get_stream venc_get_streamcopy_param
        venc_query_status venc_release_stream venc_request_idr venc_send_frame venc_send_frame_ex
        venc_send_jpege_frame venc_set_chn_attr venc_set_chn_param venc_set_cu_pred venc_set_h264_vui
        venc_set_h265_vui venc_set_intra_refresh venc_set_jpeg_huffman_param venc_set_jpeg_param venc_set_mod_param
        venc_set_rc_param venc_set_ref_param venc_set_roi_attr venc_set_scene_mode venc_set_slice_split
        venc_set_streamcopy_param venc_start_chn venc_stop_chn vpc_batch_crop_resize_make_border
        vpc_batch_crop_resize_paste vpc_blur vpc_calc_hist vpc_calc_hist_v2 vpc_convert_color
        vpc_convert_color_to_yuv420 vpc_convert_color_v2 vpc_copy_make_border vpc_create_chn vpc_crop vpc_crop_resize
        vpc_crop_resize_make_border vpc_crop_resize_paste vpc_crop_resize_resize_paste vpc_destroy_chn vpc_dilate
        vpc_draw_cover vpc_draw_line vpc_draw_mosaic vpc_draw_osd vpc_equalize_hist vpc_erode vpc_filter2d vpc_flip
        vpc_gaussian_blur vpc_get_affine_lut vpc_get_affine_transform vpc_get_lut_mem_size vpc_get_perspective_lut
        vpc_get_process_result vpc_get_remap_lut vpc_get_rotation_matrix vpc_lut_remap vpc_median_blur vpc_pyrdown
        vpc_resize vpc_rotate vpc_set_chn_opt_attr vpc_set_chn_workspace vpc_sys_create_chn vpc_warp_affine
    """,
    "acl.fv": """
        create_feature_info create_init_para create_query_table create_repo_range create_search_input
        create_search_result delete destory_init_para destroy_feature_info destroy_init_para destroy_query_table
        destroy_repo_range destroy_search_input destroy_search_result init modify release repo_add repo_del search
        set_1n_top_num set_nm_top_num
    """,
}

NAMES = {module: frozenset(table.split()) for module, table in _TABLES.items()}


def complete(module: ModuleType, name: str) -> ModuleType:
    """Add the functions that do not belong to the runtime to a module.

    Parameters
    ----------
    module : ModuleType
        The module, which may be empty.
    name : str
        The vendor's name of the module, such as ``"acl.mdl"``.

    Returns
    -------
    ModuleType
        The same module.
    """
    names = NAMES.get(name, frozenset())

    def get(attribute: str) -> Callable[..., NoReturn]:
        if attribute not in names:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        refusal = _refusal(name, attribute)
        setattr(module, attribute, refusal)
        return refusal

    def list_all() -> list[str]:
        return sorted(names.union(vars(module)) - {"__dir__", "__getattr__"})

    vars(module).update(__getattr__=get, __dir__=list_all)
    return module


def _refusal(module: str, name: str) -> Callable[..., NoReturn]:
    def refuse(*arguments: object, **keywords: object) -> NoReturn:
        text = f"functions for {_SUBJECTS[module]} do not belong to the runtime; only the vendor's acl has them"
        raise NotSupported(207000, f"{module}.{name}", text)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    return refuse
