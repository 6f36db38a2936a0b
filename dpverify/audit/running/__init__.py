"""How does a target run? In processes of its own, in blocks, resumable, its outputs in little memory."""
