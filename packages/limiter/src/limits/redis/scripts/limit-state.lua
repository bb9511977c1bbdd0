-- limit-state.lua: a limit and what is held of it (LIMIT-4 to LIMIT-7, LIMIT-11 to LIMIT-13). It stands in
-- front of every other script, because Redis has no way to load one from another.
--
-- A limit is one hash, and one hash alone, so that a call reads and writes each limit once:
--   m             the meter, packed, with the fields in the order of `load` and `save`
--   def, next     the definition in force, and the one that waits while decreasing, as JSON
--   gone          it was deleted before this time; there is nothing beside this (LIMIT-20)
--   <end>         what ends at that time; the entry that ends last is in the meter, where most changes are
--   j:<instance>  this instance has said what it holds, since the hash was made
-- Numbers are exact below 2^53. Names: `first` is no later than the earliest end, `last` and `tail` are the
-- entry in the meter, leases from before `since` hold nothing (LIMIT-20), `waiting` is the capacity that waits or -1, `guard` is when starts are let in again.
--
-- Beside the index of all limits, by its name and an ending, is what lease ids are counted with (LIMIT-10):
--   :ids   a list, oldest first, of '<when> <key of the lease>'; what is over may still be in it
--   :old   those that were found in that list, not over, after the least time that an id is remembered:
--          a sorted set in order of age; every one of them is older than all in the list
--   :over  the same ids, by the time when they are over
--
-- Redis runs a script from its first line each time, and making a function takes as long as a small command. So
-- what is hardly ever needed is inside of one function, `slow`, and made when that is called.

local FIXED, CONCURRENCY, BUCKET = 2, 3, 4 -- 1 is a rolling window
-- The version as text, then seventeen doubles. The last one may be missing: it came later than the others.
local METER = '>sddddddddddddddddd'
local METER_BYTES, NO_SINCE = 136, struct.pack('>d', 0)
local MICRO = 1000000
local NEVER = 9007199254740991
local KEEP_MS = 604800000
local SLICES = 64

-- The fields are named in one go: a table that grows field by field is laid out anew five times.
local function load(key)
  local packed = call('HGET', key, 'm')
  if not packed then return nil end
  if #packed - string.find(packed, '\0', 1, true) < METER_BYTES then packed = packed .. NO_SINCE end
  local version, kind, capacity, window, rate, deny, waiting, wait_window, wait_deny, held, first, last, tail,
    now, level, guard, expiry, since = struct.unpack(METER, packed)
  return {
    key = key, version = version, kind = kind, capacity = capacity, window = window, rate = rate, deny = deny,
    waiting = waiting, wait_window = wait_window, wait_deny = wait_deny, held = held, first = first, last = last,
    tail = tail, now = now, level = level, guard = guard, expiry = expiry, since = since,
    dirty = false }
end

-- Made below; what is kept longer needs it.
local slow

-- With the key of the index of all limits, which must not expire before them, nor what counts their leases.
local function save(m, index)
  if not m.dirty then return end
  local keep = KEEP_MS + 2 * m.window
  local is_short = m.expiry - m.now < keep / 2
  if is_short then m.expiry = m.now + keep end
  call('HSET', m.key, 'm', struct.pack(METER,
    m.version, m.kind, m.capacity, m.window, m.rate, m.deny, m.waiting, m.wait_window, m.wait_deny, m.held,
    m.first, m.last, m.tail, m.now, m.level, m.guard, m.expiry, m.since))
  if is_short then
    call('PEXPIRE', m.key, text(keep))
    slow().keep_all(index, keep)
  end
  m.dirty = false
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

-- Takes an amount, whether or not it fits; returns when that hold ends.
local function take(m, amount)
  local now, window = m.now, m.window
  if m.kind == BUCKET then
    m.level, m.dirty = m.level - amount * MICRO, true
    return now + math.floor((m.capacity * MICRO + m.rate - 1) / m.rate)
  end
  local ends = now + window
  if m.kind == FIXED then
    ends = now - now % window + window
  elseif m.kind ~= CONCURRENCY then
    local slice = math.ceil(window / SLICES)
    ends = now - now % slice + slice + window
  end
  hold(m, ends, amount)
  return ends
end

function slow()
  local s = {}

  -- The time of a call about limits that the caller may not know: no earlier than any of theirs.
  function s.now(given)
    local now = clock(given)
    for i = 2, #KEYS do
      local m = load(KEYS[i])
      if m and m.now > now then now = m.now end
    end
    return now
  end

  -- So that a key is there for that long at least.
  function s.keep(key, ms)
    if call('PTTL', key) < ms then call('PEXPIRE', key, text(ms)) end
  end

  function s.keep_all(index, ms)
    for _, ending in ipairs({ '', ':ids', ':old', ':over' }) do s.keep(index .. ending, ms) end
  end

  -- A key that was made just now lives as long as the index: longer than any limit, and so than any lease.
  function s.keep_like(index, key)
    s.keep(key, math.max(KEEP_MS, call('PTTL', index)))
  end

  -- The index names every limit; it is written again should it be gone.
  function s.name_in(index, name, m)
    call('SADD', index, name)
    s.keep(index, KEEP_MS + 2 * m.window)
  end

  -- A version is the name of the hash, given when it was made, and the number of the definition.
  function s.next_version(version)
    local birth, serial = string.match(version, '^(.*):(%d+)$')
    return birth .. ':' .. text(serial + 1)
  end

  -- The lower capacity is in force once no more is held than it allows.
  function s.apply_waiting(m)
    if m.waiting < 0 or m.held > m.waiting then return end
    m.capacity, m.window, m.deny, m.waiting = m.waiting, m.wait_window, m.wait_deny, -1
    m.version = s.next_version(m.version)
    call('HSET', m.key, 'def', call('HGET', m.key, 'next'))
    call('HDEL', m.key, 'next')
    m.dirty = true
  end

  -- Ends what has run out.
  function s.expire(m, now)
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
    for i = 1, #gone, 1000 do
      call('HDEL', m.key, unpack(gone, i, math.min(i + 999, #gone)))
    end
    if m.last <= now then
      m.held, m.last, m.tail = m.held - m.tail, 0, 0
    elseif m.last < first then
      first = m.last
    end
    m.first, m.dirty = first, true
  end

  -- When enough of what is held now will have ended.
  function s.free_at(m, excess)
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
    -- Only where sums beyond 2^53 were rounded.
    return ends[#ends]
  end

  -- For an amount that does not fit, or is held up: when to ask again.
  function s.wait(m, amount)
    local guarded = math.max(1, m.guard - m.now)
    if m.kind == BUCKET then
      return math.max(guarded, math.floor((amount * MICRO - m.level + m.rate - 1) / m.rate))
    end
    if m.waiting >= 0 then return math.max(guarded, 10000) end
    local excess = m.held + amount - m.capacity
    if excess <= 0 then return guarded end
    if m.kind == CONCURRENCY then return math.max(guarded, 100) end
    return math.max(guarded, s.free_at(m, excess) - m.now)
  end

  -- A new hash with a definition: kind, capacity, window, rate, deny, and all of it as JSON.
  function s.create(key, birth, now, def, since)
    call('DEL', key)
    call('HSET', key, 'def', def.json)
    return {
      key = key, version = birth .. ':0', kind = def.kind, capacity = def.capacity, window = def.window,
      rate = def.rate, deny = def.deny, waiting = -1, wait_window = 0, wait_deny = 0, held = 0, first = NEVER,
      last = 0, tail = 0, now = now, level = def.kind == BUCKET and def.capacity * MICRO or 0, guard = 0,
      expiry = 0, since = since, dirty = true }
  end

  -- Reads a definition from ARGV at `i`: six fields, the JSON empty where there is none.
  function s.definition_at(i)
    return {
      json = ARGV[i], kind = tonumber(ARGV[i + 1]), capacity = tonumber(ARGV[i + 2]),
      window = tonumber(ARGV[i + 3]), rate = tonumber(ARGV[i + 4]), deny = tonumber(ARGV[i + 5]) }
  end

  -- Nothing is held any more, and who reserved until now has no part in it. Time goes on by a ms, so that who reserves
  -- from now on is told from those.
  function s.reset(m)
    local fields, gone = call('HGETALL', m.key), {}
    for i = 1, #fields, 2 do
      if tonumber(fields[i]) then gone[#gone + 1] = fields[i] end
    end
    for i = 1, #gone, 1000 do
      call('HDEL', m.key, unpack(gone, i, math.min(i + 999, #gone)))
    end
    m.held, m.first, m.last, m.tail = 0, NEVER, 0, 0
    m.guard, m.dirty = 0, true
    m.now = m.now + 1
    m.since = m.now
    m.version = s.next_version(m.version)
    m.level = m.kind == BUCKET and m.capacity * MICRO or 0
    if m.waiting >= 0 then s.apply_waiting(m) end
  end

  -- A limit as it is answered: version, definition, the one that waits, held, level, since.
  function s.described(m)
    return {
      m.version, call('HGET', m.key, 'def'), m.waiting >= 0 and call('HGET', m.key, 'next') or '',
      text(m.held), text(m.level), text(m.since) }
  end

  return s
end

-- To a time that is no earlier than any before. Entries are looked at only when the first may be over.
local function advance(m, now)
  if m.kind == BUCKET then
    m.level = math.min(m.capacity * MICRO, m.level + m.rate * (now - m.now))
  elseif m.first <= now then
    slow().expire(m, now)
  end
  m.now = now
  if m.waiting >= 0 then slow().apply_waiting(m) end
end

-- Loads the limits of a call, all at one time, which never goes back. What is not as the caller knows it
-- is listed in the third result, behind a -1; an empty version means that the caller knows of no such limit.
local function load_known(count, now, versions_at)
  local meters, stale = { false, false, false, false }, nil
  for i = 1, count do
    local m = load(KEYS[i])
    if (m and m.version or '') ~= ARGV[versions_at + i - 1] then
      stale = stale or { -1 }
      stale[#stale + 1] = i
    end
    if m and m.now > now then now = m.now end
    meters[i] = m or false
  end
  if stale then return nil, now, stale end
  for i = 1, count do
    if meters[i] then advance(meters[i], now) end
  end
  return meters, now
end
