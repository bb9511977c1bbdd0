-- limit-state.lua: a limit and what is held of it (LIMIT-4 to LIMIT-7, LIMIT-11 to LIMIT-13). It stands in
-- front of every other script, because Redis has no way to load one from another.
--
-- A limit is one hash, and one hash alone, so that a call reads and writes each limit once:
--   m             the meter, packed, with the fields in the order of `load` and `save`
--   def, next     the definition in force, and the one that waits while decreasing, as JSON
--   <end>         what ends at that time; the entry that ends last is in the meter, where most changes are
--   j:<instance>  this instance has said what it holds, since the hash was made
-- Numbers are exact below 2^53. Names: `first` is no later than the earliest end, `last` and `tail` are the
-- entry in the meter, `waiting` is the capacity that waits or -1, `guard` is when starts are let in again.

local call = redis.call
local FIXED, CONCURRENCY, BUCKET = 2, 3, 4 -- 1 is a rolling window
-- The version as text, then sixteen doubles: twice as fast as MessagePack.
local METER = '>sdddddddddddddddd'
local MICRO = 1000000
local NEVER = 9007199254740991
local KEEP_MS = 604800000
local SLICES = 64

local function text(number)
  return string.format('%.0f', number)
end

local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A version is the name of the hash, given when it was made, and the number of the definition.
local function next_version(version)
  local birth, serial = string.match(version, '^(.*):(%d+)$')
  return birth .. ':' .. text(serial + 1)
end

local function load(key)
  local packed = call('HGET', key, 'm')
  if not packed then return nil end
  local m = { key = key }
  m.version, m.kind, m.capacity, m.window, m.rate, m.deny, m.waiting, m.wait_window, m.wait_deny, m.held,
    m.first, m.last, m.tail, m.now, m.level, m.guard, m.expiry = struct.unpack(METER, packed)
  return m
end

local function save(m)
  if not m.dirty then return end
  local keep = KEEP_MS + 2 * m.window
  local is_short = m.expiry - m.now < keep / 2
  if is_short then m.expiry = m.now + keep end
  call('HSET', m.key, 'm', struct.pack(METER,
    m.version, m.kind, m.capacity, m.window, m.rate, m.deny, m.waiting, m.wait_window, m.wait_deny, m.held,
    m.first, m.last, m.tail, m.now, m.level, m.guard, m.expiry))
  if is_short then call('PEXPIRE', m.key, text(keep)) end
  m.dirty = false
end

-- The lower capacity is in force once no more is held than it allows.
local function apply_waiting(m)
  if m.waiting < 0 or m.held > m.waiting then return end
  m.capacity, m.window, m.deny, m.waiting = m.waiting, m.wait_window, m.wait_deny, -1
  m.version = next_version(m.version)
  call('HSET', m.key, 'def', call('HGET', m.key, 'next'))
  call('HDEL', m.key, 'next')
  m.dirty = true
end

local function drop(key, fields)
  for i = 1, #fields, 1000 do
    call('HDEL', key, unpack(fields, i, math.min(i + 999, #fields)))
  end
end

-- Ends what has run out. Entries are looked at only when the first of them may be over.
local function advance(m, now)
  if m.kind == BUCKET then
    m.level = math.min(m.capacity * MICRO, m.level + m.rate * (now - m.now))
    m.now = now
    return
  end
  m.now = now
  if m.first <= now then
    local fields, gone, first = call('HGETALL', m.key), {}, NEVER
    for i = 1, #fields, 2 do
      local ends = tonumber(fields[i])
      if ends and ends <= now then
        gone[#gone + 1] = fields[i]
        m.held = m.held - tonumber(fields[i + 1])
      elseif ends and ends < first then
        first = ends
      end
    end
    drop(m.key, gone)
    if m.last <= now then
      m.held, m.last, m.tail = m.held - m.tail, 0, 0
    elseif m.last < first then
      first = m.last
    end
    m.first, m.dirty = first, true
  end
  apply_waiting(m)
end

local function end_of(m, now)
  if m.kind == CONCURRENCY then return now + m.window end
  if m.kind == FIXED then return now - now % m.window + m.window end
  local slice = math.ceil(m.window / SLICES)
  return now - now % slice + slice + m.window
end

local function hold(m, ends, amount)
  m.held, m.dirty = m.held + amount, true
  if ends < m.first then m.first = ends end
  if ends == m.last then
    m.tail = m.tail + amount
    return
  end
  -- Added, not set: the window may have become shorter and longer again, and this end been here before.
  if m.tail > 0 then call('HINCRBY', m.key, text(m.last), text(m.tail)) end
  m.last, m.tail = ends, amount
end

local function free(m, ends, amount)
  if ends <= m.now then return end
  m.held, m.dirty = m.held - amount, true
  if ends == m.last then
    local part = math.min(m.tail, amount)
    m.tail, amount = m.tail - part, amount - part
  end
  if amount == 0 then return end
  if call('HINCRBY', m.key, text(ends), text(-amount)) <= 0 then
    call('HDEL', m.key, text(ends))
  end
end

-- The most that may be asked for; while decreasing, of the new definition.
local function amount_max(m)
  if m.waiting >= 0 then return m.waiting end
  return m.capacity
end

local function has_room(m, amount)
  if m.kind == BUCKET then return m.level >= amount * MICRO end
  return m.waiting < 0 and m.held + amount <= m.capacity
end

local function fits(m, amount)
  return m.guard <= m.now and has_room(m, amount)
end

-- Takes an amount, whether or not it fits; returns when that hold ends.
local function take(m, amount)
  if m.kind == BUCKET then
    m.level, m.dirty = m.level - amount * MICRO, true
    return m.now + math.floor((m.capacity * MICRO + m.rate - 1) / m.rate)
  end
  local ends = end_of(m, m.now)
  hold(m, ends, amount)
  return ends
end

-- When enough of what is held now will have ended.
local function free_at(m, excess)
  local fields, ends, amounts = call('HGETALL', m.key), { m.last }, { [m.last] = m.tail }
  for i = 1, #fields, 2 do
    local at = tonumber(fields[i])
    if at and not amounts[at] then ends[#ends + 1] = at end
    if at then amounts[at] = (amounts[at] or 0) + tonumber(fields[i + 1]) end
  end
  table.sort(ends)
  for _, at in ipairs(ends) do
    excess = excess - amounts[at]
    if excess <= 0 then return at end
  end
  return m.now
end

local function wait(m, amount)
  local guarded = math.max(1, m.guard - m.now)
  if has_room(m, amount) then return guarded end
  if m.kind == BUCKET then
    return math.max(guarded, math.floor((amount * MICRO - m.level + m.rate - 1) / m.rate))
  end
  if m.waiting >= 0 then return math.max(guarded, 10000) end
  if m.kind == CONCURRENCY then return math.max(guarded, 100) end
  return math.max(guarded, free_at(m, m.held + amount - m.capacity) - m.now)
end

-- Puts actual usage in the place of what was reserved; -1 is none given.
local function settle(m, reserved, actual, ends)
  if m.kind == CONCURRENCY then
    free(m, ends, reserved)
  elseif actual >= 0 and m.kind == BUCKET then
    m.level = math.min(m.capacity * MICRO, m.level - (actual - reserved) * MICRO)
    m.dirty = true
  elseif actual >= 0 and actual < reserved then
    free(m, ends, reserved - actual)
  elseif actual > reserved then
    local excess = actual - reserved
    if m.deny == 0 or m.held + excess <= amount_max(m) then take(m, excess) end
  end
  apply_waiting(m)
end

-- A new hash with a definition: kind, capacity, window, rate, deny, and all of it as JSON.
local function create(key, birth, now, def)
  call('HSET', key, 'def', def.json)
  return {
    key = key, version = birth .. ':0', kind = def.kind, capacity = def.capacity, window = def.window,
    rate = def.rate, deny = def.deny, waiting = -1, wait_window = 0, wait_deny = 0, held = 0, first = NEVER,
    last = 0, tail = 0, now = now, level = def.kind == BUCKET and def.capacity * MICRO or 0, guard = 0,
    expiry = 0, dirty = true }
end

-- Reads a definition from ARGV at `i`: six fields, the JSON empty where there is none.
local function definition_at(i)
  return {
    json = ARGV[i], kind = tonumber(ARGV[i + 1]), capacity = tonumber(ARGV[i + 2]), window = tonumber(ARGV[i + 3]),
    rate = tonumber(ARGV[i + 4]), deny = tonumber(ARGV[i + 5]) }
end

-- A limit as it is answered: version, definition, the one that waits, held, level.
local function described(m)
  return {
    m.version, call('HGET', m.key, 'def'),
    m.waiting >= 0 and call('HGET', m.key, 'next') or '', text(m.held), text(m.level) }
end

-- Loads the limits of a call, all at one time, which never goes back. What is not as the caller knows it
-- is listed in `stale`; an empty version means that the caller knows of no such limit.
local function load_known(count, now, versions_at)
  local meters, stale = {}, {}
  for i = 1, count do
    local m = load(KEYS[i])
    if (m and m.version or '') ~= ARGV[versions_at + i - 1] then
      stale[#stale + 1] = i
    end
    if m and m.now > now then now = m.now end
    meters[i] = m or false
  end
  if #stale > 0 then return nil, now, stale end
  for i = 1, count do
    if meters[i] then advance(meters[i], now) end
  end
  return meters, now
end
