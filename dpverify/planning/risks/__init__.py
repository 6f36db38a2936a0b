"""What does epsilon mean? What the best attacker reaches, both ends proved from the privacy curve."""
