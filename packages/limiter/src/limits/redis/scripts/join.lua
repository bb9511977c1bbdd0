-- join.lua: tells a caller of limits, and Redis of what the caller holds if Redis has forgotten it (REDIS-3).
-- KEYS     the index of all limits, then the limits
-- ARGV     now or '', a name for hashes that are made now, who reports, 1 to be heard though nothing was lost; then for each limit its key as users write
--          it, the six fields of a definition ('' as JSON where the caller has none), the version that the caller
--          knew or '', for how long new starts are held up after a loss (ms), what it has taken of a bucket
--          (millionths), the number of entries it holds, and the end and the amount of each
-- returns  now, then a description of each limit, or 0 where there is none. One that was deleted is not made again.
local s = slow()
local now = s.now(ARGV[1])

-- What was known before is gone when the hash is another one. Each instance is heard once.
local function report(m, at, entries)
  local birth = string.match(ARGV[at + 7], '^(.*):')
  local field = 'j:' .. ARGV[3]
  local is_lost = birth and birth ~= string.match(m.version, '^(.*):')
  if not (is_lost or ARGV[4] == '1') or call('HEXISTS', m.key, field) == 1 then return end
  call('HSET', m.key, field, '1')
  if is_lost then m.guard = math.max(m.guard, now + tonumber(ARGV[at + 8])) end
  m.level = m.level - tonumber(ARGV[at + 9])
  m.dirty = true
  for e = 1, entries do
    local ends = tonumber(ARGV[at + 9 + 2 * e])
    if ends > now then hold(m, ends, tonumber(ARGV[at + 10 + 2 * e])) end
  end
end

local answers, at = { now }, 5
for i = 2, #KEYS do
  local entries = tonumber(ARGV[at + 10])
  local m = load(KEYS[i])
  if not m and ARGV[at + 1] ~= '' and call('HEXISTS', KEYS[i], 'gone') == 0 then
    m = s.create(KEYS[i], ARGV[2], now, s.definition_at(at + 1), 0)
  end
  if m then
    advance(m, now)
    report(m, at, entries)
    save(m, KEYS[1])
    s.name_in(KEYS[1], ARGV[at], m)
    answers[i] = s.described(m)
  else
    answers[i] = 0
  end
  at = at + 11 + 2 * entries
end
return answers
