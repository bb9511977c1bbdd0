-- announce.lua: SLOT-15, broadcasts what has changed, when it is time.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call
-- returns  0 and the rest of every answer; not yet time: in how many ms it is
local m = load()
if not m then return { NOT_A_MEMBER } end
local reply = answer(m, 0, false)
if m.due > 0 then reply[4] = m.due - m.now end
return reply
