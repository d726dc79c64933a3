"""The PCI address of a device, from its Vulkan driver (VK_EXT_pci_bus_info). It identifies the device to the kernel
and to NVIDIA's management library."""

import ctypes
import functools

_EXTENSION = b"VK_EXT_pci_bus_info"
_APPLICATION_INFO, _INSTANCE_CREATE_INFO = 0, 1
_PROPERTIES_2, _ID_PROPERTIES, _PCI_BUS_INFO = 1000059001, 1000071004, 1000212000
_VULKAN_1_1 = 1 << 22 | 1 << 12
_SIZE_OF_PROPERTIES = 824  # VkPhysicalDeviceProperties


class _ApplicationInfo(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("application", ctypes.c_char_p),
        ("application_version", ctypes.c_uint32),
        ("engine", ctypes.c_char_p),
        ("engine_version", ctypes.c_uint32),
        ("api_version", ctypes.c_uint32),
    ]


class _InstanceCreateInfo(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("flags", ctypes.c_uint32),
        ("application", ctypes.POINTER(_ApplicationInfo)),
        ("layer_count", ctypes.c_uint32),
        ("layers", ctypes.c_void_p),
        ("extension_count", ctypes.c_uint32),
        ("extensions", ctypes.c_void_p),
    ]


class _PciBusInfo(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("domain", ctypes.c_uint32),
        ("bus", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("function", ctypes.c_uint32),
    ]


class _IdProperties(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint32),
        ("next", ctypes.c_void_p),
        ("device_uuid", ctypes.c_ubyte * 16),
        ("driver_uuid", ctypes.c_ubyte * 16),
        ("device_luid", ctypes.c_ubyte * 8),
        ("node_mask", ctypes.c_uint32),
        ("luid_valid", ctypes.c_uint32),
    ]


class _Properties2(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("next", ctypes.c_void_p), ("properties", ctypes.c_uint64 * (_SIZE_OF_PROPERTIES // 8))]


class _ExtensionProperties(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("version", ctypes.c_uint32)]


def _check(status, function):
    if status not in (0, 5):  # VK_SUCCESS, VK_INCOMPLETE
        raise OSError(f"{function} failed with status {status}")


def _listed(function, *arguments, kind):
    """Calls a function that returns a count and then fills in an array."""
    count = ctypes.c_uint32(0)
    _check(function(*arguments, ctypes.byref(count), None), function.__name__)
    array = (kind * count.value)()
    _check(function(*arguments, ctypes.byref(count), array), function.__name__)
    return array[: count.value]


def _address(vulkan, device, uuid):
    """The address of a physical device: None if its UUID is another, "" if its driver does not report it."""
    names = [one.name for one in _listed(vulkan.vkEnumerateDeviceExtensionProperties, device, None, kind=_ExtensionProperties)]
    bus = _PciBusInfo(type=_PCI_BUS_INFO)
    identity = _IdProperties(type=_ID_PROPERTIES)
    if _EXTENSION in names:
        identity.next = ctypes.addressof(bus)
    properties = _Properties2(type=_PROPERTIES_2, next=ctypes.addressof(identity))
    vulkan.vkGetPhysicalDeviceProperties2(device, ctypes.byref(properties))
    if bytes(identity.device_uuid).hex() != uuid:
        return None
    return f"{bus.domain:04x}:{bus.bus:02x}:{bus.device:02x}.{bus.function:x}" if _EXTENSION in names else ""


@functools.cache
def address_of(uuid):
    """ "0000:03:00.0" for the device with this UUID ("GPU-…"); "" if its driver does not report it. Raises an OSError if
    Vulkan cannot be used."""
    digits = uuid.removeprefix("GPU-").replace("-", "")
    vulkan = ctypes.CDLL("libvulkan.so.1")
    application = _ApplicationInfo(type=_APPLICATION_INFO, api_version=_VULKAN_1_1)
    information = _InstanceCreateInfo(type=_INSTANCE_CREATE_INFO, application=ctypes.pointer(application))
    instance = ctypes.c_void_p()
    _check(vulkan.vkCreateInstance(ctypes.byref(information), None, ctypes.byref(instance)), "vkCreateInstance")
    try:
        for device in _listed(vulkan.vkEnumeratePhysicalDevices, instance, kind=ctypes.c_void_p):
            address = _address(vulkan, ctypes.c_void_p(device), digits)
            if address is not None:
                return address
        return ""
    finally:
        vulkan.vkDestroyInstance(instance, None)
