# SPDX-License-Identifier: Apache-2.0
"""Devices: all of them, what tells them apart, and their access to each other."""

from __future__ import annotations

import pytest

from ascend_rt import AclError, Device, InvalidArgument


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
        with pytest.raises(TypeError, match="a Device is wanted"):
            function(1)  # type: ignore[arg-type]
