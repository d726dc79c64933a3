"""A Python number combined with a tensor, in and beyond the range of its dtype, real and complex: the same values as on the
CPU, which wraps operands around and refuses parameters that the dtype cannot hold."""

import unittest

import torch

from support import DEVICE, device_is_there

DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float32)
NUMBERS = (-1, 0, 3, 127, 128, 255, 256, -129, 70_000, 2**40, -2**63, 1.5, True, 1 + 2j, 2 + 0j, .5j)
OPERANDS = ("add sub mul true_divide floor_divide remainder fmod pow eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor "
            "bitwise_left_shift bitwise_right_shift copysign xlogy rsub").split()
#: Called with the number as a tensor without dimensions, on the CPU and on the device.
NUMBER_TENSORS = "maximum minimum fmax fmin logical_and logical_or logical_xor".split()
IN_PLACE = ("add_ sub_ mul_ floor_divide_ remainder_ fmod_ eq_ ne_ lt_ ge_ bitwise_and_ bitwise_or_ bitwise_xor_ clamp_min_ "
            "clamp_max_ fill_").split()


def mask(x):
    return torch.arange(x.numel(), device=x.device) % 2 == 0


PARAMETERS = {
    "clamp": lambda x, number: torch.clamp(x, number, number),
    "clamp, low": lambda x, number: torch.clamp(x, min=number),
    "clamp, high": lambda x, number: torch.clamp(x, max=number),
    "clamp_min": lambda x, number: x.clamp_min(number),
    "clamp_max": lambda x, number: x.clamp_max(number),
    "hardtanh": lambda x, number: torch.nn.functional.hardtanh(x, -2, number),
    "threshold": lambda x, number: torch.nn.functional.threshold(x, number, 1),
    "threshold, value": lambda x, number: torch.nn.functional.threshold(x, 1, number),
    "masked_fill": lambda x, number: x.masked_fill(mask(x), number),
    "masked_fill, tensor": lambda x, number: x.masked_fill(mask(x), torch.tensor(number)),
    "masked_fill, tensor on the device": lambda x, number: x.masked_fill(mask(x), torch.tensor(number, device=x.device)),
    "masked_fill of nothing": lambda x, number: x[:0].masked_fill(mask(x[:0]), number),
    "set items by a mask": lambda x, number: x.clone().__setitem__(mask(x), number),
    "index_fill, tensor": lambda x, number: x.index_fill(
        0, torch.tensor([0], device=x.device), torch.tensor(number, device=x.device)),
    "index_fill": lambda x, number: x.index_fill(0, torch.tensor([0], device=x.device), number),
    "where": lambda x, number: torch.where(mask(x), x, number),
    "where, first": lambda x, number: torch.where(mask(x), number, x),
    "full_like": lambda x, number: torch.full_like(x, number),
    "addcmul": lambda x, number: torch.addcmul(x, x, x, value=number),
    "add, alpha": lambda x, number: torch.add(x, x, alpha=number),
    "sub, alpha": lambda x, number: torch.sub(x, x, alpha=number),
    "rsub, alpha": lambda x, number: torch.rsub(x, x, alpha=number),
    "isin": lambda x, number: torch.isin(x, number),
    "pow of a number": lambda x, number: torch.pow(number, x),
    "index_put": lambda x, number: x.clone().index_put_((mask(x),), torch.tensor(number).to(x.dtype).to(x.device)),
    "set an item": lambda x, number: x.clone().__setitem__(0, number),
    "scatter": lambda x, number: x.scatter(0, torch.tensor([0], device=x.device), number),
    "constant_pad": lambda x, number: torch.nn.functional.pad(x, (1, 1), value=number),
}


def cases():
    for name in OPERANDS:
        yield name, lambda x, number, name=name: getattr(torch, name)(x, number)
    for name in NUMBER_TENSORS:
        yield name, lambda x, number, name=name: getattr(torch, name)(x, torch.tensor(number))
        yield (f"{name}, on the device",
               lambda x, number, name=name: getattr(torch, name)(x, torch.tensor(number, device=x.device)))
    for name in IN_PLACE:
        yield name, lambda x, number, name=name: getattr(x.clone(), name)(number)
    yield from PARAMETERS.items()


@unittest.skipUnless(device_is_there(), f"there is no device {DEVICE}")
class Numbers(unittest.TestCase):
    def outcome(self, function, x, number):
        try:
            result = function(x, number)
            return result.cpu() if isinstance(result, torch.Tensor) else result, ""
        except Exception as error:  # PyTorch raises various exceptions here
            return None, f"{type(error).__name__}: {error}"

    def test_each(self):
        for name, function in cases():
            for dtype in DTYPES:
                x = torch.tensor([0, 1, 2, -1 if dtype.is_signed else 255, 100]).to(dtype)
                for number in NUMBERS:
                    with self.subTest(operator=name, dtype=dtype, number=number):
                        expected, why = self.outcome(function, x, number)
                        found, error = self.outcome(function, x.to(DEVICE), number)
                        if why or error:
                            self.assertEqual(bool(error), bool(why), f"CPU: {why or expected}; device: {error or found}")
                        elif expected is not None:
                            # A power of a complex number has an angle of 110 radians, which float32 represents to 1e-5.
                            tolerance = 3e-5 if isinstance(number, complex) and "pow" in name else 1e-6
                            # A GPU may treat subnormal numbers as zero (pytorch/README.md, Known gaps).
                            smallest = torch.finfo(torch.float32).tiny if "pow" in name else 0
                            torch.testing.assert_close(found, expected, rtol=tolerance, atol=smallest, equal_nan=True)

    def test_wider_results(self):
        """The result wraps around in the operands' dtype before it is converted to that of `out`."""
        for name in ("add", "sub", "mul", "maximum", "bitwise_xor", "bitwise_left_shift"):
            for dtype in DTYPES[:4]:
                with self.subTest(operator=name, dtype=dtype):
                    x, y = torch.tensor([100, 127, 3]).to(dtype), torch.tensor([101, 2, 7]).to(dtype)
                    def result(device, name=name, x=x, y=y):
                        out = torch.zeros(3, dtype=torch.int64, device=device)
                        return getattr(torch, name)(x.to(device), y.to(device), out=out).tolist()
                    self.assertEqual(result(DEVICE), result("cpu"))


if __name__ == "__main__":
    unittest.main()
