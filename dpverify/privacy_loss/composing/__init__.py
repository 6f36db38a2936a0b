"""What do many instances reveal, whatever each holds? Suprema, blocks of mixes, a recursion, Hoelder's inequality."""
