"""What do days with different protocols or numbers of users give together? One entry at a time, and all."""
