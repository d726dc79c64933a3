"""Shared memory through which the ranks of one host send tensors to each other, in pieces. The sender copies a piece into one of
its segments and sends the segment's number through Gloo, so that order, tags and senders match as for any other message; the
receiver copies the piece out of the segment and marks it as free.

A segment is an anonymous file that both processes map. The device copies from and to it directly where the driver can import
it, and otherwise through the host.
"""

import contextlib
import mmap
import os
import socket
import struct
import threading
import time

import torch

PIECE = 16 << 20  # bytes of a segment's data
_HEADER = 64 << 10  # bytes before the data, which hold one number: 1 while the segment is in use
_BEFORE_GROWING = 0.005  # seconds that a sender with _FEW segments waits for a free one before it makes another
_FEW = 4


def count_of(tensor):
    """Returns the number of pieces."""
    return -(-tensor.nbytes // PIECE)


def bytes_of(tensor):
    """Returns a contiguous tensor's elements as a flat tensor of bytes."""
    return tensor.view(-1).view(torch.uint8)


class _Segment:
    """One process's view of a segment; owns the descriptor."""

    def __init__(self, number, descriptor):
        self.number, self.descriptor = number, descriptor
        self._memory = mmap.mmap(descriptor, _HEADER + PIECE)
        self._host = torch.frombuffer(self._memory, dtype=torch.uint8, offset=_HEADER)
        self._on_device = {}

    @property
    def in_use(self):
        return struct.unpack_from("q", self._memory)[0] != 0

    @in_use.setter
    def in_use(self, value):
        struct.pack_into("q", self._memory, 0, value)

    def data(self, device, length):
        """Returns the first bytes, as a tensor that the device copies from and to."""
        if device not in self._on_device:
            imported = torch.ops.rvk.import_host_memory(self._host, device)
            self._on_device[device] = self._host if imported is None else imported
        return self._on_device[device][:length]


class Outbox:
    """The segments of a sender. Thread-safe."""

    def __init__(self, listener):
        self._listener = listener
        self._segments = []
        self._lock = threading.Lock()
        self._server = None

    def take(self):
        """Returns a segment that is free, and marks it as in use."""
        end = time.monotonic() + _BEFORE_GROWING
        with self._lock:
            while True:
                for segment in self._segments:
                    if not segment.in_use:
                        segment.in_use = True
                        return segment
                if len(self._segments) < _FEW or time.monotonic() > end:
                    return self._add()
                time.sleep(0.0002)

    def _add(self):
        descriptor = os.memfd_create("rekindle")
        os.ftruncate(descriptor, _HEADER + PIECE)
        segment = _Segment(len(self._segments), descriptor)
        segment.in_use = True
        self._segments.append(segment)
        if self._server is None:
            self._server = threading.Thread(target=self._serve, name="rvk segments", daemon=True)
            self._server.start()
        return segment

    def _serve(self):
        """Gives receivers the descriptors of segments, one for each connection."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            with connection:
                try:
                    if is_same_user(connection):
                        connection.settimeout(1)
                        (number,) = struct.unpack("q", connection.recv(8))
                        socket.send_fds(connection, [b"s"], [self._segments[number].descriptor])
                except (OSError, struct.error, IndexError):
                    pass  # the receiver has ended

    def close(self, timeout, receivers):
        """Waits until the receivers have read all segments or have ended, but for at most `timeout` seconds. receivers: the
        addresses of their sockets."""
        end = time.monotonic() + timeout
        while any(segment.in_use for segment in self._segments) and any(map(_is_open, receivers)) and time.monotonic() < end:
            time.sleep(0.02)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept(), which close() does not
        self._listener.close()


def _is_open(address):
    """Whether the process with that socket still reads segments."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.setblocking(False)
        try:
            connection.connect(f"\0{address}")
        except BlockingIOError:  # too many others are connecting
            return True
        except OSError:
            return False
        return True


class Inbox:
    """The senders' segments that this rank has read. Thread-safe."""

    def __init__(self):
        self._segments = {}
        self._lock = threading.Lock()

    def segment(self, address, number):
        """address: the sender's abstract socket. Raises a ConnectionError if the sender has ended."""
        with self._lock:
            if (address, number) not in self._segments:
                self._segments[address, number] = self._fetch(address, number)
            return self._segments[address, number]

    @staticmethod
    def _fetch(address, number):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(10)
            connection.connect(f"\0{address}")
            connection.send(struct.pack("q", number))
            _, descriptors, *_ = socket.recv_fds(connection, 1, 1)
        if not descriptors:
            raise ConnectionResetError("The sender closed the connection.")
        return _Segment(number, descriptors[0])


def is_same_user(connection):
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] == os.getuid()
