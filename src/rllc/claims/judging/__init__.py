"""Steps by which a claim is judged: its value, its outcome over seeds, chance, and its row in the table."""
