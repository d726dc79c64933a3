"""Connects the ranks of a group on one host: a socket for each pair of ranks, and shared memory that all of them map.

The memory of each rank has four slots, which rounds use in turn. In a round each rank fills its slot, sends a message to the
others, waits for their messages, and starts to read their slots. It sends its message only after its reads of the round
before the last have finished. So after the messages of round n have arrived, nobody reads the slots of round n - 2, and the
slots of rounds n + 1 and n + 2 can be filled. Waiting blocks in the kernel. The sockets of a process that dies are closed,
which wakes the others at once.
"""

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
from .staging import PIECE

_SLOTS = 4
#: How many rounds a rank may fill ahead, including the current one, and of how many rounds it may still be reading slots.
AHEAD = _SLOTS // 2
_ROUND, _FAILED = b"r", b"f"
_LONGEST = 4096  # bytes in a message
_GRACE = 3  # seconds by which a rank that waits for a message outlasts a rank that waits for a connection
_FIRST = "the group's first operation"


def _host():
    """A key that is equal for processes that can reach each other through abstract sockets."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return f"{boot} {os.stat('/proc/self/ns/net').st_ino} {os.getuid()}"


def _same_user(connection):
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", credentials)[1] == os.getuid()


def _read(peer):
    """Receives a message, and the file descriptor that came with it, if any."""
    try:
        message, descriptors, *_ = socket.recv_fds(peer, _LONGEST, 1)
    except ConnectionResetError:  # the peer closed with unread messages; its own can still be read
        message, descriptors, *_ = socket.recv_fds(peer, _LONGEST, 1)
    return message, descriptors


class Directory:
    """Exchanges the hosts and socket addresses of a group's ranks through the store."""

    def __init__(self, store, rank, size):
        self._store, self.rank, self.size = store, rank, size
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        address = f"rekindle-{uuid.uuid4().hex}"
        self.listener.bind(f"\0{address}")
        self.listener.listen(size)
        store.set(f"link/{rank}", json.dumps({"host": _host(), "address": address}))

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
    """The sockets and shared memory of a group. Only the group's thread may call the methods."""

    def __init__(self, directory, entries, timeout, name_of):
        self.rank, self.size = directory.rank, directory.size
        self._name_of = name_of
        self._round = 0
        self._peers = {}
        try:
            self._connect(directory, entries, timeout)
            self.memories = self._share_memory(timeout)  # of all ranks, as flat host tensors of bytes
        except PeerFailed as problem:
            self.fail(str(problem))
            raise

    def _connect(self, directory, entries, timeout):
        peers = self._peers
        for rank in range(self.rank):
            peers[rank] = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peers[rank].settimeout(timeout)
            peers[rank].connect(f"\0{entries[rank]['address']}")
            peers[rank].send(struct.pack("i", self.rank))
        end = time.monotonic() + timeout
        while len(peers) < self.size - 1:
            directory.listener.settimeout(max(end - time.monotonic(), 0.001))
            try:
                connection, _ = directory.listener.accept()
            except TimeoutError:
                self._say_late(set(range(self.size)) - set(peers) - {self.rank}, timeout)
            if not _same_user(connection):
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
        bytes_of_all = _SLOTS * PIECE
        own = os.memfd_create("rekindle")
        os.ftruncate(own, bytes_of_all)
        descriptors = {self.rank: own}
        for peer in self._peers.values():
            socket.send_fds(peer, [b"m"], [own])
        for rank, peer in self._peers.items():
            descriptors[rank] = self._receive_descriptor(rank, peer, timeout)
        memories = []
        for rank in range(self.size):
            memories.append(torch.frombuffer(mmap.mmap(descriptors[rank], bytes_of_all), dtype=torch.uint8))
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
            raise PeerFailed(failures.is_gone(self._name_of(rank), _FIRST))
        return received[0]

    def slot(self, ahead=0):
        """Returns where the slot of this round, or of the round that is `ahead` of it, begins in each rank's memory."""
        return (self._round + ahead) % _SLOTS * PIECE

    def meet(self, what, end, timeout):
        """Announces that this rank's slot is filled, and waits for all others. In the first round of an operation, `what`
        describes it and must be the same on every rank; in later rounds it is empty. `end` is a deadline on the monotonic
        clock."""
        message = _ROUND + what.encode()
        for rank, peer in self._peers.items():
            self._send(rank, peer, message)
        for rank, peer in self._peers.items():
            theirs = self._receive(rank, peer, what, end, timeout)
            if theirs != message:
                raise PeerFailed(
                    f"The ranks call different operations: rank {self._name_of(self.rank)} is in {what}, and rank "
                    f"{self._name_of(rank)} in {theirs[1:].decode() or 'a longer operation'}."
                )

    def advance(self):
        """Ends the round, after this rank has started to read the others' slots."""
        self._round += 1

    def _send(self, rank, peer, message):
        try:
            peer.send(message[:_LONGEST])
        except OSError:
            self._explain(rank, peer)

    def _receive(self, rank, peer, what, end, timeout):
        peer.settimeout(max(end - time.monotonic(), 0.001))
        try:
            message, _ = _read(peer)
        except TimeoutError:
            raise PeerFailed(failures.is_late([self._name_of(rank)], what or "an operation", timeout)) from None
        except OSError:
            message = b""
        if not message:
            raise PeerFailed(failures.is_gone(self._name_of(rank), what or "an operation"))
        if message[:1] == _FAILED:
            raise PeerFailed(message[1:].decode())
        return message

    def _explain(self, rank, peer):
        """Raises the error message that a rank sent before it closed its socket, if any."""
        while True:
            self._receive(rank, peer, "", time.monotonic() + 1, 1)

    def fail(self, sentence):
        """Tells the other ranks why this one gives up, and closes the connections."""
        for peer in self._peers.values():
            try:
                peer.settimeout(0.1)
                peer.send((_FAILED + sentence.encode())[:_LONGEST])
            except OSError:
                pass
        self.close()

    def close(self):
        for peer in self._peers.values():
            peer.close()
