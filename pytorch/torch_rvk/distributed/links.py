"""Connects the ranks of a group on one host: a socket for each pair of ranks, and shared memory that all of them map. C++
uses them (pytorch/src/distributed/links.h)."""

import json
import mmap
import os
import socket
import struct
import time
import uuid

import torch

from . import failures
from .failures import PeerFailed
from .segments import is_same_user

#: These three are as in pytorch/src/distributed/links.h and links.cpp.
_SHARED_BYTES = 64 << 20  # of each rank's memory
_FAILED = b"f"  # begins the message of a rank that gives up
_LONGEST = 4096  # bytes in a message
_GRACE = 3  # seconds by which a rank that waits for a message outlasts a rank that waits for a connection
_FIRST = "the group's first operation"


def _host():
    """A key that is equal for processes that can reach each other through abstract sockets."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return f"{boot} {os.stat('/proc/self/ns/net').st_ino} {os.getuid()}"


def _read(peer):
    """Receives a message, and the file descriptor that came with it, if any."""
    try:
        message, descriptors, *_ = socket.recv_fds(peer, _LONGEST, 1)
    except ConnectionResetError:  # the peer left messages unread; its own can still be read
        message, descriptors, *_ = socket.recv_fds(peer, _LONGEST, 1)
    return message, descriptors


class Directory:
    """Exchanges the hosts and socket addresses of a group's ranks through the store."""

    def __init__(self, store, rank, size):
        self._store, self.rank, self.size = store, rank, size
        self.listener, address = self._listen(size)
        self.segments_listener, segments = self._listen(size)
        store.set(f"link/{rank}", json.dumps({"host": _host(), "address": address, "segments": segments}))

    @staticmethod
    def _listen(size):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        address = f"rekindle-{uuid.uuid4().hex}"
        listener.bind(f"\0{address}")
        listener.listen(size)
        return listener, address

    def read(self, timeout, name_of):
        """Returns the entries of all ranks. After `timeout` seconds, raises PeerFailed, which names the missing ranks."""
        keys = [f"link/{rank}" for rank in range(self.size)]
        end = time.monotonic() + timeout
        pause = 0.001
        while not self._store.check(keys):
            if time.monotonic() > end:
                missing = [name_of(rank) for rank, key in enumerate(keys) if not self._store.check([key])]
                raise PeerFailed(failures.is_late(missing, _FIRST, timeout))
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return [json.loads(self._store.get(key)) for key in keys]


def are_on_one_host(entries):
    return len({entry["host"] for entry in entries}) == 1


class Links:
    """The connections of this rank: `sockets`, by rank, and the `memories` of all ranks, as flat host tensors of bytes."""

    def __init__(self, directory, entries, timeout, name_of):
        self._rank, self._size = directory.rank, directory.size
        self._name_of = name_of
        self._peers = {}
        try:
            self._connect(directory, entries, timeout)
            self.memories = self._share_memory(timeout)
        except PeerFailed as problem:
            self._give_up(str(problem))
            raise

    def take_sockets(self):
        """Returns the sockets' file descriptors by rank, which the caller owns; this rank's own is -1."""
        return [self._peers[rank].detach() if rank in self._peers else -1 for rank in range(self._size)]

    def _connect(self, directory, entries, timeout):
        peers = self._peers
        for rank in range(self._rank):
            peers[rank] = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peers[rank].settimeout(timeout)
            peers[rank].connect(f"\0{entries[rank]['address']}")
            peers[rank].send(struct.pack("i", self._rank))
        end = time.monotonic() + timeout
        while len(peers) < self._size - 1:
            directory.listener.settimeout(max(end - time.monotonic(), 0.001))
            try:
                connection, _ = directory.listener.accept()
            except TimeoutError:
                self._say_late(set(range(self._size)) - set(peers) - {self._rank}, timeout)
            if not is_same_user(connection):
                connection.close()
                continue
            connection.settimeout(timeout)
            (rank,) = struct.unpack("i", connection.recv(_LONGEST))
            peers[rank] = connection
        directory.listener.close()

    def _say_late(self, ranks, timeout):
        names = [self._name_of(rank) for rank in sorted(ranks)]
        raise PeerFailed(failures.is_late(names, _FIRST, timeout)) from None

    def _share_memory(self, timeout):
        own = os.memfd_create("rekindle")
        os.ftruncate(own, _SHARED_BYTES)
        descriptors = {self._rank: own}
        for peer in self._peers.values():
            socket.send_fds(peer, [b"m"], [own])
        for rank, peer in self._peers.items():
            descriptors[rank] = self._receive_descriptor(rank, peer, timeout)
        memories = []
        for rank in range(self._size):
            memories.append(torch.frombuffer(mmap.mmap(descriptors[rank], _SHARED_BYTES), dtype=torch.uint8))
            os.close(descriptors[rank])
        return memories

    def _receive_descriptor(self, rank, peer, timeout):
        peer.settimeout(timeout + _GRACE)
        try:
            message, received = _read(peer)
        except TimeoutError:
            self._say_late([rank], timeout)
        except OSError:
            message = b""
        if message[:1] == _FAILED:
            raise PeerFailed(message[1:].decode())
        if not message:
            raise PeerFailed(failures.is_gone([self._name_of(rank)], _FIRST))
        return received[0]

    def _give_up(self, sentence):
        """Tells the other ranks why, and closes the connections."""
        for peer in self._peers.values():
            try:
                peer.settimeout(0.1)
                peer.send((_FAILED + sentence.encode())[:_LONGEST])
            except OSError:
                pass
            peer.close()
