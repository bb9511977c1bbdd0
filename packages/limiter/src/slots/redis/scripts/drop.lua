-- drop.lua: SLOT-14, an instance that is silent is dropped, or leaves by itself. What it had in flight goes back, what
-- it used stays.
-- KEYS     as in pool-state.lua, of the one that goes
-- ARGV     the four of every call; the one that goes; 1 if it leaves by itself
-- returns  0 and the rest of every answer
local m = load()
if not m then return { NOT_A_MEMBER } end
local seen = call('ZSCORE', KEYS[2], ARGV[5])
local goes = seen and (ARGV[6] == '1' or m.now - tonumber(seen) >= DROP_MS)
if goes then
  call('ZREM', KEYS[2], ARGV[5])
  m.flight = m.flight - call('HLEN', KEYS[3])
  call('DEL', KEYS[3])
end
return answer(m, 0, goes, true)
