# SPDX-License-Identifier: Apache-2.0
"""The result of :attr:`Device.properties`, separate because few programs need it, and dataclasses import slowly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_rt.enums import DeviceFormFactor, HostDeviceConnectType

__all__ = ["DeviceProperties"]


@dataclass(frozen=True, kw_only=True)
class DeviceProperties:
    """Properties of a device. A property is None if the product lacks it or the library is too old to report it.

    Attributes
    ----------
    ai_cores, cube_cores, vector_cores, ai_cpus : int
        Numbers of cores; an AI core may consist of a cube core and some vector cores.
    memory_nbytes, l2_cache_nbytes : int
        Sizes in bytes.
    chip_id : int
        The physical number of the chip.
    smp_id : int
        Equal for devices that run under one operating system.
    is_virtual : bool
        True if it is a part of a chip, in a virtual machine or a container.
    arch : int or None
        The version of the architecture, for instance 2201.
    super_pod_id, super_pod_server_id, super_pod_device_id : int or None
        Its place in a cluster: the super pod, the server there, and the device in the super pod.
    mainboard_id : int or None
        The number of the main board.
    form_factor : DeviceFormFactor or int or None
        The kind of module or card; a number if it is newer than this package.
    host_link : HostDeviceConnectType or int or None
        The link to the host.
    custom_op_privilege : bool or None
        True if custom operators on its AI CPUs may make additional system calls.
    warp_size : int or None
        Threads of a warp. This property and the ones below exist only on 950.
    max_threads_per_vector_core, max_threads_per_block, max_blocks_per_grid : int or None
        Upper limits of a launch.
    max_grid, max_block : tuple of int or None
        Upper limits of a launch in x, y and z.
    unified_buffer_nbytes : int or None
        Local memory of a vector core, in bytes.

    Notes
    -----
    ``aclrtGetDeviceInfo``. API reference 25-02. See :attr:`Device.properties`.

    Examples
    --------
    >>> properties = Device(0).properties
    >>> properties.vector_cores >= properties.ai_cores > 0
    True
    """

    ai_cores: int
    cube_cores: int
    vector_cores: int
    ai_cpus: int
    memory_nbytes: int
    l2_cache_nbytes: int
    chip_id: int
    smp_id: int
    is_virtual: bool
    arch: int | None
    super_pod_id: int | None
    super_pod_server_id: int | None
    super_pod_device_id: int | None
    mainboard_id: int | None
    form_factor: DeviceFormFactor | int | None
    host_link: HostDeviceConnectType | int | None
    custom_op_privilege: bool | None
    warp_size: int | None
    max_threads_per_vector_core: int | None
    max_threads_per_block: int | None
    max_blocks_per_grid: int | None
    max_grid: tuple[int, int, int] | None
    max_block: tuple[int, int, int] | None
    unified_buffer_nbytes: int | None
