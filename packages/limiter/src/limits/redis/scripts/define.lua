-- define.lua: LIMIT-13, defines limits or changes them.
-- KEYS     the index of all limits, then the limits
-- ARGV     now or '', a name for hashes that are made now; then for each limit its key as users write it and six
--          fields: JSON, kind, capacity or burst, window or timeout (ms), rate (thousandths), 1 for deny
-- returns  now, then a description of each limit, or 0 where it has another kind
local s = slow()
local now = s.now(ARGV[1])

local function change(m, def)
  advance(m, now)
  if m.waiting >= 0 then call('HDEL', m.key, 'next') end
  m.waiting, m.dirty, m.version = -1, true, s.next_version(m.version)
  if m.kind ~= BUCKET and def.capacity < m.capacity and m.held > def.capacity then
    m.waiting, m.wait_window, m.wait_deny = def.capacity, def.window, def.deny
    call('HSET', m.key, 'next', def.json)
    return
  end
  m.capacity, m.window, m.rate, m.deny = def.capacity, def.window, def.rate, def.deny
  m.level = math.min(m.level, m.capacity * MICRO)
  call('HSET', m.key, 'def', def.json)
end

local answers = { now }
for i = 2, #KEYS do
  local at = 3 + 7 * (i - 2)
  local def = s.definition_at(at + 1)
  local m = load(KEYS[i])
  if m and m.kind ~= def.kind then
    answers[i] = 0
  else
    if m then
      change(m, def)
    else
      -- After a deletion leases from before it must not count.
      local from = math.max(now, tonumber(call('HGET', KEYS[i], 'gone') or 0))
      m = s.create(KEYS[i], ARGV[2], from, def, from)
    end
    save(m, KEYS[1])
    s.name_in(KEYS[1], ARGV[at], m)
    answers[i] = s.described(m)
  end
end
return answers
