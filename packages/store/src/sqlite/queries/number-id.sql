-- number-id: STORE-5, gives an id its number, once.
-- in: number, id
-- out: one change, or none if the id has a number by now
INSERT INTO ids (no, id)
VALUES (?, ?)
ON CONFLICT (id) DO NOTHING
