# SPDX-License-Identifier: Apache-2.0
"""Devices: all of them, their differences, and their access to each other."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.codes import DRIVER, PRODUCTS, RT_PARAM, UNSUPPORTED

from ascend_rt import AclError, Context, Device, DeviceProperties, InvalidArgument, sim
from ascend_rt.enums import DevAttr


@pytest.fixture
def peer(device: Device, backend: str) -> Device:
    """Return another device, which the first one can access."""
    others = [other for other in Device.all() if other != device and device.can_access(other)]
    if not others:
        pytest.skip("needs two devices with a link")
    return others[0]


def test_all_devices(device: Device) -> None:
    devices = Device.all()
    assert len(devices) == Device.count()
    assert [other.id for other in devices] == list(range(Device.count()))
    assert device in devices


@pytest.mark.parametrize("number", [Decimal("1.9"), Fraction(1), np.float32(1), 1.0, "1", None])
@pytest.mark.parametrize("kind", [Device, Context])
def test_the_number_of_a_device_is_an_integer(kind: Any, number: Any, device: Device) -> None:
    with pytest.raises(TypeError):
        kind(number)


def test_the_number_of_a_device_may_be_of_numpy(device: Device) -> None:
    found = Device(np.int32(1)).id
    assert (found, type(found)) == (1, int)
    with Context(np.array(0)):
        assert Device.current() == device


def test_no_two_devices_have_the_same_uuid(device: Device) -> None:
    assert len({other.uuid for other in Device.all()}) == Device.count()
    assert device.uuid == Device(device.id).uuid


def test_a_device_that_does_not_exist(device: Device) -> None:
    with pytest.raises(AclError, match="aclrtDeviceGetUuid"):
        _ = Device(Device.count()).uuid


def test_access_is_enabled_in_one_direction(device: Device, peer: Device) -> None:
    before = Device.current()
    assert not device.has_access(peer)
    device.enable_access(peer)
    try:
        device.enable_access(peer)
        assert device.has_access(peer)
        assert not peer.has_access(device)
    finally:
        device.disable_access(peer)
    assert not device.has_access(peer)
    assert Device.current() == before


def test_a_device_is_no_peer_of_itself(device: Device) -> None:
    for function in (device.can_access, device.enable_access):
        with pytest.raises(InvalidArgument):
            function(device)


def test_a_peer_is_a_device(device: Device) -> None:
    for function in (device.can_access, device.has_access, device.enable_access, device.disable_access):
        with pytest.raises(TypeError, match="expected a Device"):
            function(1)  # type: ignore[arg-type]


# --- properties ------------------------------------------------------------------------------------------------------

# The answer of every product, and of every release that has the function.
ALWAYS = {
    "ai_cores": DevAttr.AICORE_CORE_NUM,
    "cube_cores": DevAttr.CUBE_CORE_NUM,
    "vector_cores": DevAttr.VECTOR_CORE_NUM,
    "ai_cpus": DevAttr.AICPU_CORE_NUM,
    "memory_nbytes": DevAttr.TOTAL_GLOBAL_MEM_SIZE,
    "l2_cache_nbytes": DevAttr.L2_CACHE_SIZE,
    "chip_id": DevAttr.PHY_CHIP_ID,
    "smp_id": DevAttr.SMP_ID,
    "is_virtual": DevAttr.IS_VIRTUAL,
}
# The rest: field -> attributes.
PERHAPS = {
    "arch": [DevAttr.NPU_ARCH],
    "super_pod_id": [DevAttr.SUPER_POD_ID],
    "super_pod_server_id": [DevAttr.SUPER_POD_SERVER_ID],
    "super_pod_device_id": [DevAttr.SUPER_POD_DEVICE_ID],
    "mainboard_id": [DevAttr.MAINBOARD_ID],
    "form_factor": [DevAttr.DEVICE_FORM_FACTOR],
    "host_link": [DevAttr.HD_CONNECT_TYPE],
    "custom_op_privilege": [DevAttr.CUST_OP_PRIVILEGE],
    "warp_size": [DevAttr.WARP_SIZE],
    "max_threads_per_vector_core": [DevAttr.MAX_THREAD_PER_VECTOR_CORE],
    "max_threads_per_block": [DevAttr.MAX_THREADS_PER_BLOCK],
    "max_blocks_per_grid": [DevAttr.MAX_BLOCK_PER_GRID],
    "max_grid": [DevAttr.MAX_GRID_DIM_X, DevAttr.MAX_GRID_DIM_Y, DevAttr.MAX_GRID_DIM_Z],
    "max_block": [DevAttr.MAX_BLOCK_DIM_X, DevAttr.MAX_BLOCK_DIM_Y, DevAttr.MAX_BLOCK_DIM_Z],
    "unified_buffer_nbytes": [DevAttr.UBUF_PER_VECTOR_CORE],
}
OF_950 = list(PERHAPS)[list(PERHAPS).index("warp_size") :]


def test_properties_are_the_attributes(device: Device) -> None:
    properties = device.properties
    assert [*ALWAYS, *PERHAPS] == [field.name for field in fields(DeviceProperties)]
    assert set(DevAttr) == {*ALWAYS.values(), *(attribute for some in PERHAPS.values() for attribute in some)}
    for name, attribute in ALWAYS.items():
        assert getattr(properties, name) == device.attribute(attribute)
    for name, attributes in PERHAPS.items():
        value = getattr(properties, name)
        if value is not None:
            found = tuple(device.attribute(attribute) for attribute in attributes)
            assert value == (found if len(found) > 1 else found[0])
    assert properties == device.properties
    assert hash(properties) == hash(device.properties)


def test_properties_cannot_be_changed(device: Device) -> None:
    with pytest.raises(FrozenInstanceError):
        device.properties.ai_cores = 1  # type: ignore[misc]


@pytest.mark.simulator("products")
@pytest.mark.parametrize("product", PRODUCTS)
def test_properties_of_products(product: str, child: Any) -> None:
    script = """
        from dataclasses import asdict
        from ascend_rt import Device, lib, ffi
        properties = Device(1).properties
        reported([asdict(properties), text(), repr(properties.form_factor), properties.chip_id])
    """
    properties, message, form_factor, chip = child(script, ASCEND_RT_SIM_PRODUCT=product)
    assert properties["ai_cores"] == properties["cube_cores"] > 0
    assert properties["is_virtual"] is False
    assert properties["custom_op_privilege"] is False
    assert form_factor.startswith("<DeviceFormFactor.")
    assert chip == 1
    assert message is None  # an attribute that the product does not have
    for name in OF_950:
        assert (properties[name] is not None) == (product == "950"), name
    assert (properties["super_pod_id"] is not None) == (product in ("910C", "950"))


def test_properties_need_no_context(child: Any) -> None:
    script = """
        reported(__import__("ascend_rt").Device(0).properties.ai_cores)
    """
    assert child(script) > 0


def test_properties_of_no_device() -> None:
    for number in (Device.count(), -1):
        with pytest.raises((InvalidArgument, OverflowError)):
            _ = Device(number).properties


@pytest.mark.simulator("faults")
@pytest.mark.parametrize("code", [DRIVER, RT_PARAM, UNSUPPORTED])
def test_only_a_refusal_means_that_it_is_not_reported(code: int, device: Device) -> None:
    """Every question fails in turn."""
    fine = device.properties
    nth = 0
    for name, attributes in {**{name: [it] for name, it in ALWAYS.items()}, **PERHAPS}.items():
        for _ in attributes:
            nth += 1
            with sim.faults():
                sim.fail_call("aclrtGetDeviceInfo", code, nth=nth)
                if name in ALWAYS or code == DRIVER:
                    with pytest.raises(AclError) as caught:
                        _ = device.properties
                    assert caught.value.code == code
                else:
                    properties = device.properties
                    assert getattr(properties, name) is None
                    different = {
                        it.name for it in fields(fine) if getattr(fine, it.name) != getattr(properties, it.name)
                    }
                    assert different <= {name}


def test_what_newer_libraries_answer(device: Device, override: Any) -> None:
    """They answer 0 for what only the 950 has, and may know more kinds than this package."""

    def answer(device_id: int, attribute: int, out: Any) -> int:
        out[0] = 99 if attribute == DevAttr.DEVICE_FORM_FACTOR else 0
        return 0

    override("aclrtGetDeviceInfo", answer)
    properties = device.properties
    assert [getattr(properties, name) for name in OF_950] == [None] * len(OF_950)
    assert properties.form_factor == 99
    assert repr(properties.host_link) == "<HostDeviceConnectType.PCIE: 0>"
    assert properties.super_pod_id == 0


def test_the_name_of_the_chip(device: Device) -> None:
    assert device.name.startswith("Ascend")
