"""RAPPOR: strings reported bit by bit, through a Bloom filter and two randomized responses (wang_lecture9, 9.1.1)."""

from protocols.rappor.bloom import BloomFilter
from protocols.rappor.client import RapporClient
from protocols.rappor.decoder import BitCounts, Decoded, decode
from protocols.rappor.response import PermanentResponse, Rappor, Reports

__all__ = ["BitCounts", "BloomFilter", "Decoded", "PermanentResponse", "Rappor", "RapporClient", "Reports", "decode"]
