-- reset.lua: LIMIT-20, frees all that is held of a limit, or deletes it.
-- KEYS     the index of all limits, the limit
-- ARGV     now or '', the key of the limit as users write it, 1 to delete
-- returns  now, then its description; 0 where there is no such limit, 1 where it was deleted
local s = slow()
local now = s.now(ARGV[1])
local m = load(KEYS[2])
if not m then return { now, 0 } end
advance(m, now)
if ARGV[3] == '1' then
  -- Instances that know it would make it again, so it is remembered that it is gone.
  local keep = KEEP_MS + 2 * m.window
  call('DEL', KEYS[2])
  call('HSET', KEYS[2], 'gone', text(m.now + 1))
  call('PEXPIRE', KEYS[2], text(keep))
  call('SREM', KEYS[1], ARGV[2])
  return { now, 1 }
end
s.reset(m)
save(m, KEYS[1])
return { now, s.described(m) }
