-- beat.lua: SLOT-13, a sign of life.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call
-- returns  0 and the rest of every answer, then the instances that have given none for 15 s; or -1 if the caller has
--          to register first
local m = load()
if not m or not is_member(m) then return { NOT_A_MEMBER } end
call('ZADD', KEYS[2], text(m.now), instance)
local reply = answer(m, 0, false)
call('PEXPIRE', KEYS[1], text(KEEP_MS))
call('PEXPIRE', KEYS[2], text(KEEP_MS))
call('PEXPIRE', KEYS[3], text(KEEP_FLIGHT_MS))
local silent = call('ZRANGEBYSCORE', KEYS[2], '-inf', text(m.now - DROP_MS), 'LIMIT', 0, 100)
for i = 1, #silent do reply[5 + i] = silent[i] end
return reply
