# SPDX-License-Identifier: Apache-2.0
"""Define the cffi module ``ascend_rt._aclrt``: ``cffi-gen-src exec-python build_ffi.py _aclrt.c``."""

from codegen.aclrt import builder

ffibuilder = builder()
