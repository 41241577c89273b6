"""The random stream of the published FGD runs, so that their seeds give their arrivals.

The authors' simulator draws from the first generator of Go's standard library: an additive lagged Fibonacci
sequence, y[t] = y[t-607] + y[t-273] mod 2^64.  A seed fills the 607 words with a small congruential generator and
mixes in a fixed table; that table is where the same sequence stands after 7.8 * 10^12 steps from a start of its
own.  Nobody walks that far: a step is linear, so a number of steps is a power of a polynomial, and repeated
squaring finds it.
"""

from __future__ import annotations

from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
Words = NDArray[np.uint64]

_LONG, _SHORT = 607, 273
_STEPS = 7_800_000_000_000
_MODULUS = (1 << 31) - 1
_FACTOR = 48271
_SEED_OF_ZERO = 89482311
_SKIPPED = 20


class Stream:
    """Draws for one seed."""

    def __init__(self, seed: int) -> None:
        self._words = [int(word) for word in _filled(seed, (40, 20, 0)) ^ _table()]
        self._feed = _LONG - _SHORT
        self._tap = 0

    def word(self) -> int:
        """The next 64 bits."""
        self._tap = (self._tap - 1) % _LONG
        self._feed = (self._feed - 1) % _LONG
        value = (self._words[self._feed] + self._words[self._tap]) & 0xFFFF_FFFF_FFFF_FFFF
        self._words[self._feed] = value
        return value

    def skip(self, count: int) -> None:
        for _ in range(count):
            self.word()

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1, each as likely."""
        while True:
            value = self._bits(31)
            if limit & (limit - 1) == 0:
                return value & (limit - 1)
            if value <= (1 << 31) - 1 - (1 << 31) % limit:
                return value % limit

    def shuffle(self, items: list[T]) -> None:
        for last in range(len(items) - 1, 0, -1):
            size = last + 1
            while True:
                product = self._bits(32) * size
                if product & 0xFFFF_FFFF >= (1 << 32) % size:
                    break
            other = product >> 32
            items[last], items[other] = items[other], items[last]

    def permutation(self, count: int) -> list[int]:
        result = [0] * count
        for index in range(count):
            other = self.below(index + 1)
            result[index] = result[other]
            result[other] = index
        return result

    def _bits(self, count: int) -> int:
        """The upper ones of 63 bits."""
        return (self.word() & 0x7FFF_FFFF_FFFF_FFFF) >> (63 - count)


def _filled(seed: int, shifts: tuple[int, int, int]) -> Words:
    """607 words from a seed, three draws of the congruential generator in each."""
    rng = seed % _MODULUS or _SEED_OF_ZERO
    for _ in range(_SKIPPED):
        rng = rng * _FACTOR % _MODULUS
    words = []
    for _ in range(_LONG):
        word = 0
        for shift in shifts:
            rng = rng * _FACTOR % _MODULUS
            word ^= rng << shift
        words.append(word & 0xFFFF_FFFF_FFFF_FFFF)
    return np.array(words, dtype=np.uint64)


@cache
def _table() -> Words:
    """Where the sequence stands after all those steps, in the order in which the generator keeps its words."""
    # The words lie in memory against the order of time: the first draw is made from the last ones.
    start = _filled(1, (20, 10, 0))
    past = np.concatenate([start[: _LONG - _SHORT][::-1], start[_LONG - _SHORT :][::-1]])
    power = _power(_STEPS)
    # y[steps + k] is the same combination of y[k .. k + 606] for every k.
    sequence = [int(word) for word in past]
    for index in range(_LONG):
        sequence.append((sequence[index] + sequence[index + _LONG - _SHORT]) & 0xFFFF_FFFF_FFFF_FFFF)
    known = np.array(sequence, dtype=np.uint64)
    then = np.array([(power * known[k : k + _LONG]).sum(dtype=np.uint64) for k in range(_LONG)], dtype=np.uint64)
    # After a multiple of 607 steps the words would be where they began; the rest is turned by.
    feed = (_LONG - _SHORT - _STEPS) % _LONG
    words: Words = np.empty(_LONG, dtype=np.uint64)
    for age, value in enumerate(then[::-1]):
        words[(feed + age) % _LONG] = value
    return words


def _power(steps: int) -> Words:
    """x^steps modulo x^607 - x^334 - 1, coefficients modulo 2^64."""
    result: Words = np.zeros(_LONG, dtype=np.uint64)
    result[0] = 1
    for bit in bin(steps)[2:]:
        result = _reduced(_product(result, result))
        if bit == "1":
            result = _reduced(np.concatenate([[np.uint64(0)], result]))
    return result


def _product(left: Words, right: Words) -> Words:
    result: Words = np.zeros(len(left) + len(right) - 1, dtype=np.uint64)
    for index, factor in enumerate(left):
        result[index : index + len(right)] += factor * right
    return result


def _reduced(polynomial: Words) -> Words:
    while len(polynomial) > _LONG:
        low, high = polynomial[:_LONG], polynomial[_LONG:]
        polynomial = np.zeros(max(_LONG, len(high) + _LONG - _SHORT), dtype=np.uint64)
        polynomial[:_LONG] = low
        polynomial[: len(high)] += high
        polynomial[_LONG - _SHORT : _LONG - _SHORT + len(high)] += high
    return polynomial
