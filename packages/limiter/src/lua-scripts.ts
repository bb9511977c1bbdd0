/** Made by `npm run lua` from the .lua files; do not edit. */

const PRELUDE = `-- prelude.lua: stands in front of every script, before what those of a folder share.

local call = redis.call

local function text(number)
  return string.format('%.0f', number)
end

-- In ms: as a test gives it, else the server's own.
local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`

const LIMIT_STATE = `-- limit-state.lua: a limit and what is held of it (LIMIT-4 to LIMIT-7, LIMIT-11 to LIMIT-13). It stands in
-- front of every other script, because Redis has no way to load one from another.
--
-- A limit is one hash, and one hash alone, so that a call reads and writes each limit once:
--   m             the meter, packed, with the fields in the order of \`load\` and \`save\`
--   def, next     the definition in force, and the one that waits while decreasing, as JSON
--   gone          it was deleted before this time; there is nothing beside this (LIMIT-20)
--   <end>         what ends at that time; the entry that ends last is in the meter, where most changes are
--   j:<instance>  this instance has said what it holds, since the hash was made
-- Numbers are exact below 2^53. Names: \`first\` is no later than the earliest end, \`last\` and \`tail\` are the
-- entry in the meter, leases from before \`since\` hold nothing (LIMIT-20), \`waiting\` is the capacity that waits or -1, \`guard\` is when starts are let in again.
--
-- Beside the index of all limits, by its name and an ending, is what lease ids are counted with (LIMIT-10):
--   :ids   a list, oldest first, of '<when> <key of the lease>'; what is over may still be in it
--   :old   those that were found in that list, not over, after the least time that an id is remembered:
--          a sorted set in order of age; every one of them is older than all in the list
--   :over  the same ids, by the time when they are over
--
-- Redis runs a script from its first line each time, and making a function takes as long as a small command. So
-- what is hardly ever needed is inside of one function, \`slow\`, and made when that is called.

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
  if #packed - string.find(packed, '\\0', 1, true) < METER_BYTES then packed = packed .. NO_SINCE end
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

  -- Reads a definition from ARGV at \`i\`: six fields, the JSON empty where there is none.
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
`

/** From `limits/redis/scripts`. */
export const LIMIT_SCRIPTS = {
  complete: {
    sha: '197e4e5abdbd8fbabe94b6cc7d04d929f19aeea1',
    text: `${PRELUDE}\n${LIMIT_STATE}\n-- complete.lua: LIMIT-12 for one request or a batch of them, in order.
-- KEYS     the limits, one lease a request, the index of all limits
-- ARGV     now or '', how long an id is remembered (ms), how many of them at most, how many times what was reserved an
--          actual counts at most, the number of limits, the version of each as the caller knows it; then for requests in a row with the same actuals: how many, the number of actuals,
--          and the number of the limit and the amount of each
-- returns  now, then three for each actual that was too much to be booked (LIMIT-19): the request, the limit, and as text
--          how much of it; or -1 and the numbers of limits that the caller knows otherwise; or -2 and the keys of limits
--          that a lease holds and the call did not name: then nothing was done
local factor, count, index = tonumber(ARGV[4]), tonumber(ARGV[5]), KEYS[#KEYS]
local requests = #KEYS - count - 1
local remember = tonumber(ARGV[2])
local meters, now, stale = load_known(count, clock(ARGV[1]), 6)
if not meters then return stale end

local function free(m, ends, amount)
  if ends <= now then return end
  m.held, m.dirty = m.held - amount, true
  if ends == m.last then
    local part = math.min(m.tail, amount)
    m.tail, amount = m.tail - part, amount - part
  end
  if amount == 0 then return end
  m.freed = m.freed or {}
  m.freed[ends] = (m.freed[ends] or 0) + amount
end

-- What was freed of each entry, in one go.
local function save_freed(m)
  for ends, amount in pairs(m.freed) do
    if call('HINCRBY', m.key, text(ends), text(-amount)) <= 0 then call('HDEL', m.key, text(ends)) end
  end
end

-- Puts actual usage in the place of what was reserved; -1 is none given. Returns what of it does not count.
local function book_actual(m, reserved, actual, ends)
  local beyond = 0
  if m.kind ~= CONCURRENCY then
    beyond = math.max(0, actual - math.max(factor * reserved, m.capacity))
    actual = actual - beyond
  end
  if m.kind == CONCURRENCY then
    free(m, ends, reserved)
  elseif actual >= 0 and m.kind == BUCKET then
    m.level = math.min(m.capacity * MICRO, m.level - (actual - reserved) * MICRO)
    m.dirty = true
  elseif actual >= 0 and actual < reserved then
    free(m, ends, reserved - actual)
  elseif actual > reserved then
    local excess = actual - reserved
    local capacity = m.waiting >= 0 and m.waiting or m.capacity
    if m.deny == 0 or m.held + excess <= capacity then take(m, excess) end
  end
  if m.waiting >= 0 then slow().apply_waiting(m) end
  return beyond
end

local number_of = {}
for i = 1, count do number_of[KEYS[i]] = i end

-- Each lease once, though it may be named twice.
local leases, missing = {}, { -2 }
local packs = call('MGET', unpack(KEYS, count + 1, count + requests))
for request = 1, requests do
  local key = KEYS[count + request]
  local packed = not leases[key] and packs[request]
  local lease = packed and cmsgpack.unpack(packed)
  if lease and lease[1] == 'held' and now < lease[4] then
    leases[key] = lease
    for i = 1, #lease[5], 3 do
      if not number_of[lease[5][i]] then missing[#missing + 1] = lease[5][i] end
    end
  end
end

-- Also where nothing is completed: what has run out meanwhile is gone from the entries.
local function save_all()
  for i = 1, count do
    local m = meters[i]
    if m and m.freed then save_freed(m) end
    if m then save(m, index) end
  end
end

if #missing > 1 then
  save_all()
  return missing
end

-- The lease from here on; those that were reserved at one time are alike.
local dones = {}
local function done(lease, key)
  local reserved_at = lease[2]
  -- Of this age it may be among those that are known by the time when they are over.
  if now - reserved_at >= remember then
    call('ZADD', index .. ':over', 'XX', text(now + remember), key)
  end
  local packed = dones[reserved_at]
  if not packed then
    packed = cmsgpack.pack({ 'completed', now + remember, reserved_at })
    dones[reserved_at] = packed
  end
  return packed
end

local answers, at, left = { now }, 6 + count, 0
local actual = {}
for request = 1, requests do
  if left == 0 then
    local n = tonumber(ARGV[at + 1])
    left = tonumber(ARGV[at])
    for i = 1, count do actual[i] = nil end
    for j = 1, n do
      local i = tonumber(ARGV[at + 2 * j])
      actual[i] = (actual[i] or 0) + tonumber(ARGV[at + 2 * j + 1])
    end
    at = at + 2 + 2 * n
  end
  left = left - 1
  local key = KEYS[count + request]
  local lease = leases[key]
  if lease then
    local holds = lease[5]
    for h = 1, #holds, 3 do
      local i = number_of[holds[h]]
      -- It may have been deleted or reset since.
      if meters[i] and lease[2] >= meters[i].since then
        local beyond = book_actual(meters[i], holds[h + 1], actual[i] or -1, holds[h + 2])
        if beyond > 0 then
          local n = #answers
          answers[n + 1], answers[n + 2], answers[n + 3] = request, i, text(math.min(beyond, NEVER))
        end
      end
    end
    call('PSETEX', key, ARGV[2], done(lease, key))
    leases[key] = nil
  end
end
save_all()
return answers
`,
  },
  define: {
    sha: '2f48d26950fd54893c65d22a19a7238cc464f7de',
    text: `${PRELUDE}\n${LIMIT_STATE}\n-- define.lua: LIMIT-13, defines limits or changes them.
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
`,
  },
  join: {
    sha: 'e5ad03228ab11f7f46b13e19abdcea51dfe3f524',
    text: `${PRELUDE}\n${LIMIT_STATE}\n-- join.lua: tells a caller of limits, and Redis of what the caller holds if Redis has forgotten it (REDIS-3).
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
`,
  },
  reserve: {
    sha: '49ae493682af1efb1015852de6b41779dbd9761c',
    text: `${PRELUDE}\n${LIMIT_STATE}\n-- reserve.lua: LIMIT-8 to LIMIT-11 for one request or a batch of them, in order.
-- KEYS     the limits, one lease a request, the index of all limits
-- ARGV     now or '', how long an id is remembered (ms), how many of them at most, the factor of complete.lua, the number of
--          limits, the version of each as the caller knows it; then for requests in a row that ask for the same: how many, the number of
--          requirements, and the number of the limit and the amount of each
-- returns  now, then four numbers for each request that was not simply allowed just now: which, code, value,
--          limit; or -1 and the limits that the caller knows otherwise, and nothing was done
-- A lease is a string: packed {'held', reserved_at, ends_at, forget_at, {limit, amount, end, …}}, or
-- {'completed' | 'denied', forget_at, reserved_at}.
-- Too many ids: so many are looked at in one go, as often as this, and so many forgotten in one call.
local LOOKED_AT, LOOKS, FORGOTTEN_MAX = 256, 4, 1000
local ALLOWED, DENIED, DECREASING, FINISHED, DENIED_BEFORE, OTHER, UNKNOWN, EXCEEDS = 0, 1, 2, 3, 4, 5, 6, 7

local count, index = tonumber(ARGV[5]), KEYS[#KEYS]
local requests = #KEYS - count - 1
local remember = tonumber(ARGV[2])
local meters, now, stale = load_known(count, clock(ARGV[1]), 6)
if not meters then return stale end

-- What is known of a lease: its answer, or nil when that is to be forgotten.
local function again(packed, n, wanted, amounts)
  local lease = cmsgpack.unpack(packed)
  if lease[1] ~= 'held' then
    if now >= lease[2] then return nil end
    return lease[1] == 'denied' and DENIED_BEFORE or FINISHED, 0, 0
  end
  if now >= lease[4] then return nil end
  if now >= lease[3] then return FINISHED, 0, 0 end
  local holds = lease[5]
  local same = 0
  for i = 1, #holds, 3 do
    for j = 1, n do
      if KEYS[wanted[j]] == holds[i] and amounts[j] == holds[i + 1] then same = same + 1 end
    end
  end
  if same ~= n or #holds ~= 3 * n then return OTHER, 0, 0 end
  return ALLOWED, lease[2], 0
end

-- Used again for each request: making tables is a good part of what a request costs.
local holds, wanted, amounts = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 }
local held = { 'held', now, 0, 0, holds }
-- Of the requirements that are read: whether they were found to be possible; a lease of them, once there is one,
-- and how long it is kept. At one time all that ask for the same are alike.
local is_possible, same_lease, same_ttl = false, nil, nil
-- The ids that are remembered from now on, as they are in the list of all of them.
local fresh, fresh_count, stamp = { false, false, false, false }, 0, text(now) .. ' '

-- The code and the limit where it never will be.
local function impossible(n)
  for j = 1, n do
    if not meters[wanted[j]] then return UNKNOWN, wanted[j] end
  end
  for j = 1, n do
    local m = meters[wanted[j]]
    if amounts[j] > (m.waiting >= 0 and m.waiting or m.capacity) then return EXCEEDS, wanted[j] end
  end
end

local function decide(key, packed, n)
  if packed then
    local code, value, limit = again(packed, n, wanted, amounts)
    if code then return code, value, limit end
  end
  if not is_possible then
    local code, limit = impossible(n)
    if code then return code, 0, limit end
    is_possible = true
  end
  local denied, retry = nil, 0
  for j = 1, n do
    local m, amount = meters[wanted[j]], amounts[j]
    local has_room = m.waiting < 0 and m.held + amount <= m.capacity
    if m.kind == BUCKET then has_room = m.level >= amount * MICRO end
    if not has_room or m.guard > now then
      denied = denied or wanted[j]
      retry = math.max(retry, slow().wait(m, amount))
    end
  end
  fresh_count = fresh_count + 1
  fresh[fresh_count] = stamp .. key
  if denied then
    call('PSETEX', key, ARGV[2], cmsgpack.pack({ 'denied', now + remember, now }))
    return meters[denied].waiting >= 0 and DECREASING or DENIED, retry, denied
  end
  local ends_at = now
  for j = 1, n do
    local ends = take(meters[wanted[j]], amounts[j])
    if ends > ends_at then ends_at = ends end
    holds[3 * j] = ends
  end
  if not same_lease then
    for i = #holds, 3 * n + 1, -1 do holds[i] = nil end
    for j = 1, n do holds[3 * j - 2], holds[3 * j - 1] = KEYS[wanted[j]], amounts[j] end
    held[3], held[4] = ends_at, ends_at + remember
    same_lease, same_ttl = cmsgpack.pack(held), text(ends_at + remember - now)
  end
  call('PSETEX', key, same_ttl, same_lease)
  return ALLOWED, now, 0
end

-- Where more ids are counted than may be remembered: forgets so many of them, those that are over first, then
-- the oldest (LIMIT-10). What a forgotten lease holds is held until its end.
local function forget(excess, survivors)
  local ids, old, over = index .. ':ids', index .. ':old', index .. ':over'

  local function parse(entry)
    local when, key = string.match(entry, '^(%d+) (.*)$')
    return tonumber(when), key
  end

  -- Whether what was remembered then is so still. Later the same id may have come anew.
  local function is_known(packed, when)
    local lease = packed and cmsgpack.unpack(packed)
    if not lease then return false end
    if lease[1] == 'held' then return now < lease[4] and lease[2] == when end
    return now < lease[2] and lease[3] == when
  end

  -- Those at the front of the list that may be over.
  local function front()
    local first = call('LINDEX', ids, 0)
    if not first or parse(first) > now - remember then return {}, {} end
    local keys, times = {}, {}
    for i, entry in ipairs(call('LRANGE', ids, 0, LOOKED_AT - 1)) do
      local when, key = parse(entry)
      if when > now - remember then break end
      keys[i], times[i] = key, when
    end
    return keys, times
  end

  local function keep_old(keys, packs)
    local last = tonumber(call('ZRANGE', old, -1, -1, 'WITHSCORES')[2] or 0)
    for i, key in ipairs(keys) do
      local lease = cmsgpack.unpack(packs[i])
      call('ZADD', old, text(last + i), key)
      call('ZADD', over, text(lease[1] == 'held' and lease[4] or lease[2]), key)
    end
    if survivors == 0 then
      slow().keep_like(index, old)
      slow().keep_like(index, over)
    end
    survivors = survivors + #keys
  end

  -- Takes those off the list; returns how many there were.
  local function look()
    local keys, times = front()
    if #keys == 0 then return 0 end
    call('LTRIM', ids, #keys, -1)
    local packs, known, known_packs = call('MGET', unpack(keys)), {}, {}
    for i, key in ipairs(keys) do
      if is_known(packs[i], times[i]) then
        known[#known + 1], known_packs[#known_packs + 1] = key, packs[i]
      end
    end
    if #known > 0 then keep_old(known, known_packs) end
    excess = excess - #keys + #known
    return #keys
  end

  if survivors > 0 then
    local gone = call('ZRANGEBYSCORE', over, '-inf', text(now), 'LIMIT', 0, FORGOTTEN_MAX)
    if #gone > 0 then
      call('ZREM', over, unpack(gone))
      call('ZREM', old, unpack(gone))
      excess, survivors = excess - #gone, survivors - #gone
    end
  end
  for _ = 1, LOOKS do
    if excess <= 0 or look() == 0 then break end
  end
  if excess <= 0 then return end

  excess = math.min(excess, FORGOTTEN_MAX)
  local oldest = {}
  if survivors > 0 then
    oldest = call('ZRANGE', old, 0, excess - 1)
    call('ZREM', old, unpack(oldest))
    call('ZREM', over, unpack(oldest))
  end
  local more = excess - #oldest
  if more > 0 then
    for _, entry in ipairs(call('LRANGE', ids, 0, more - 1)) do
      local _, key = parse(entry)
      oldest[#oldest + 1] = key
    end
    call('LTRIM', ids, more, -1)
  end
  call('DEL', unpack(oldest))
end

local function remember_fresh()
  local size = call('RPUSH', index .. ':ids', unpack(fresh, 1, fresh_count))
  if size == fresh_count then slow().keep_like(index, index .. ':ids') end
  local survivors = call('ZCARD', index .. ':old')
  local excess = size + survivors - tonumber(ARGV[3])
  if excess > 0 then forget(excess, survivors) end
end

local answers, at, n, left, seen = { now, 0, 0, 0, 0 }, 6 + count, 0, 0, {}
local size = 1
local packs = call('MGET', unpack(KEYS, count + 1, count + requests))
for request = 1, requests do
  local key, packed = KEYS[count + request], packs[request]
  -- Named twice in one batch: what the first has just become.
  if seen[key] then packed = call('GET', key) end
  seen[key] = true
  if left == 0 then
    left, n, is_possible, same_lease = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), false, nil
    for j = 1, n do
      wanted[j], amounts[j] = tonumber(ARGV[at + 2 * j]), tonumber(ARGV[at + 2 * j + 1])
    end
    at = at + 2 + 2 * n
  end
  left = left - 1
  local code, value, limit = decide(key, packed, n)
  if code ~= ALLOWED or value ~= now then
    answers[size + 1], answers[size + 2], answers[size + 3], answers[size + 4] = request, code, value, limit
    size = size + 4
  end
end
for i = size + 1, #answers do answers[i] = nil end
if fresh_count > 0 then remember_fresh() end
for i = 1, count do
  if meters[i] then save(meters[i], index) end
end
return answers
`,
  },
  reset: {
    sha: '58662908e61838899f0bcb51f5d026e4296cbf56',
    text: `${PRELUDE}\n${LIMIT_STATE}\n-- reset.lua: LIMIT-20, frees all that is held of a limit, or deletes it.
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
`,
  },
} as const

const POOL_STATE = `-- pool-state.lua: what all instances have started on one model (SLOT-5, SLOT-13 to SLOT-15). It stands in front of
-- every other script of this folder, because Redis has no way to load one from another.
--
-- A model is three kinds of key, all in one slot of a cluster:
--   KEYS[1]  a hash: \`m\`, the state, packed in the order of \`load\` and \`save\`; \`message\`, the allocation that was
--            broadcast last; \`heard:<id>\`, a report that has been counted. Its name is also the channel's.
--   KEYS[2]  the instances, a sorted set by the time of their last sign of life
--   KEYS[3]  what one instance has in flight, a hash from a reference to \`start_of\`
-- A limit of -1 is none. \`version\` grows with every change, \`sent\` is the one that was broadcast last, at \`sent_at\`;
-- \`due\` is when the next broadcast is (0: nothing to tell). Every call begins with the same four arguments:
--   ARGV     now or '', the instance, the birth and the version of the allocation that it knows
-- and ends in the same way: code, now, version, in how many ms the caller has to announce (0: not the caller),
-- and the allocation that was broadcast last if the caller does not know it, else ''.

local STATE = '>sdddddddddddddddddd'
local MINUTE_MS, DAY_MS = 60000, 86400000
local DROP_MS = 15000
local ANNOUNCE_MS = 50
-- What is in flight outlives the state, so that whoever drops an instance can count it.
local KEEP_MS, KEEP_FLIGHT_MS = 172800000, 259200000
local NOT_A_MEMBER = -1
local instance = ARGV[2]

-- What a job was started with: its estimate, and the windows it counts in.
local function start_of(tokens, requests, minute, day)
  return text(tokens) .. ' ' .. text(requests) .. ' ' .. text(minute) .. ' ' .. text(day)
end

-- A counter belongs to one window. Time never goes back.
local function advance(m, now)
  if now > m.now then m.now = now end
  local minute, day = math.floor(m.now / MINUTE_MS), math.floor(m.now / DAY_MS)
  if minute ~= m.minute then m.minute, m.tpm, m.rpm = minute, 0, 0 end
  if day ~= m.day then m.day, m.tpd, m.rpd = day, 0, 0 end
end

local function load()
  local packed = call('HGET', KEYS[1], 'm')
  if not packed then return nil end
  local birth, version, sent, sent_at, due, now, minute, day, tpm, rpm, tpd, rpd, flight, guard, max_tpm, max_rpm, max_tpd,
    max_rpd, max_flight = struct.unpack(STATE, packed)
  local m = {
    birth = birth, version = version, sent = sent, sent_at = sent_at, due = due, now = now, minute = minute,
    day = day, tpm = tpm, rpm = rpm, tpd = tpd, rpd = rpd, flight = flight, guard = guard,
    max_tpm = max_tpm, max_rpm = max_rpm, max_tpd = max_tpd, max_rpd = max_rpd, max_flight = max_flight }
  advance(m, clock(ARGV[1]))
  return m
end

local function save(m)
  call('HSET', KEYS[1], 'm', struct.pack(STATE,
    m.birth, m.version, m.sent, m.sent_at, m.due, m.now, m.minute, m.day, m.tpm, m.rpm, m.tpd, m.rpd, m.flight,
    m.guard, m.max_tpm, m.max_rpm, m.max_tpd, m.max_rpd, m.max_flight))
end

-- Whether the caller may start and end anything; if not, it has to register first.
local function is_member(m)
  local seen = call('ZSCORE', KEYS[2], instance)
  return seen and m.now - tonumber(seen) < DROP_MS
end

-- Usage, in the windows it belongs to, as far as those are current.
local function add_usage(m, minute, tpm, rpm, day, tpd, rpd)
  if minute == m.minute then m.tpm, m.rpm = math.max(0, m.tpm + tpm), math.max(0, m.rpm + rpm) end
  if day == m.day then m.tpd, m.rpd = math.max(0, m.tpd + tpd), math.max(0, m.rpd + rpd) end
end

-- \`[limit, share, common]\` of a rate, or null.
local function part(limit, used, instances)
  if limit < 0 then return 'null' end
  local remaining = math.max(0, limit - used)
  local share = math.floor(remaining / instances)
  return '[' .. text(limit) .. ',' .. text(share) .. ',' .. text(remaining - instances * share) .. ']'
end

-- What remains for each instance, as JSON.
local function allocation(m)
  local instances = math.max(1, call('ZCARD', KEYS[2]))
  return '{"birth":"' .. m.birth .. '","version":' .. text(m.version)
    .. ',"instances":' .. text(instances) .. ',"minute":' .. text(m.minute) .. ',"day":' .. text(m.day)
    .. ',"tpm":' .. part(m.max_tpm, m.tpm, instances) .. ',"rpm":' .. part(m.max_rpm, m.rpm, instances)
    .. ',"tpd":' .. part(m.max_tpd, m.tpd, instances) .. ',"rpd":' .. part(m.max_rpd, m.rpd, instances)
    .. ',"concurrency":' .. part(m.max_flight, 0, instances) .. '}'
end

-- Tells every instance (SLOT-15).
local function broadcast(m)
  m.sent, m.sent_at, m.due = m.version, m.now, 0
  local message = allocation(m)
  call('HSET', KEYS[1], 'message', message)
  call('PUBLISH', KEYS[1], message)
end

-- Saves, broadcasts what is due, and answers. Usage is told 50 ms after it changed, so that what several instances
-- start together is told together; who is there is told at once, unless there was a broadcast just before.
local function answer(m, code, has_changed, is_urgent)
  local announce = 0
  if has_changed then
    m.version = m.version + 1
    if m.due == 0 then
      m.due = is_urgent and m.sent_at + ANNOUNCE_MS or m.now + ANNOUNCE_MS
      announce = math.max(0, m.due - m.now)
    end
  end
  if m.due > 0 and m.now >= m.due then broadcast(m) end
  save(m)
  local is_known = ARGV[3] == m.birth and tonumber(ARGV[4]) >= m.sent
  return { code, m.now, m.version, announce, is_known and '' or call('HGET', KEYS[1], 'message') or '' }
end
`

/** From `slots/redis/scripts`. */
export const POOL_SCRIPTS = {
  acquire: {
    sha: 'f276804d03732b13777c1a50e39fc5b60e17ca86',
    text: `${PRELUDE}\n${POOL_STATE}\n-- acquire.lua: SLOT-5, starts as many jobs of one estimate as fit, in order.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call; tokens and requests of each job; then a reference for each
-- returns  how many of them are started, from the first on, and the rest of every answer; or -1 if the caller has
--          to register first, and nothing was done. A reference that is in flight already is started once.
local m = load()
if not m or not is_member(m) then return { NOT_A_MEMBER } end
local tokens, requests = tonumber(ARGV[5]), tonumber(ARGV[6])

local function fits(limit, used, amount)
  return limit < 0 or amount <= limit - used
end

local function has_room()
  return m.guard <= m.now
    and fits(m.max_tpm, m.tpm, tokens) and fits(m.max_rpm, m.rpm, requests)
    and fits(m.max_tpd, m.tpd, tokens) and fits(m.max_rpd, m.rpd, requests)
    and fits(m.max_flight, m.flight, 1)
end

local known = call('HMGET', KEYS[3], unpack(ARGV, 7))
local start = start_of(tokens, requests, m.minute, m.day)
local granted, new = 0, {}
for i = 1, #known do
  if not known[i] then
    if not has_room() then break end
    add_usage(m, m.minute, tokens, requests, m.day, tokens, requests)
    m.flight = m.flight + 1
    new[#new + 1], new[#new + 2] = ARGV[6 + i], start
  end
  granted = granted + 1
end
if #new > 0 then
  local added = call('HSET', KEYS[3], unpack(new))
  if added == call('HLEN', KEYS[3]) then call('PEXPIRE', KEYS[3], text(KEEP_FLIGHT_MS)) end
end
return answer(m, granted, #new > 0)
`,
  },
  announce: {
    sha: '6dc4505d162d5abde06a24c5bb1461477d1ae4a9',
    text: `${PRELUDE}\n${POOL_STATE}\n-- announce.lua: SLOT-15, broadcasts what has changed, when it is time.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call
-- returns  0 and the rest of every answer; not yet time: in how many ms it is
local m = load()
if not m then return { NOT_A_MEMBER } end
local reply = answer(m, 0, false)
if m.due > 0 then reply[4] = m.due - m.now end
return reply
`,
  },
  beat: {
    sha: '6132567179eb2f99afb8afde9a1fc6c334bad7fc',
    text: `${PRELUDE}\n${POOL_STATE}\n-- beat.lua: SLOT-13, a sign of life.
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
`,
  },
  drop: {
    sha: '99e470f56f6f3bd4e2dd53c65b564d8a6b011b10',
    text: `${PRELUDE}\n${POOL_STATE}\n-- drop.lua: SLOT-14, an instance that is silent is dropped, or leaves by itself. What it had in flight goes back, what
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
`,
  },
  register: {
    sha: 'ef5e577e1c59262055adcc9ecc11144574dd744a',
    text: `${PRELUDE}\n${POOL_STATE}\n-- register.lua: SLOT-13, an instance joins, or comes back. Redis hears what it has in flight, and what it has used if
-- Redis has forgotten that or never knew.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call; a name for a state that is made now; the five limits, -1 for none; 1 to put them in
--          the place of those in force; 1 to hold up new starts after a loss; what it used (minute, tokens, requests,
--          day, tokens, requests); the name of what it decided by itself while Redis was away, or '', and what was
--          used of that (the same six); how many of the starts that follow have ended, and Redis may or may not know it;
--          then for each start its reference, tokens, requests, minute and day, those that have ended last
-- returns  0 and the rest of every answer
local GUARD_MAX_MS = 120000
local function number(i) return tonumber(ARGV[i]) end

local now = clock(ARGV[1])
local m = load()
local has_changed = not m
if not m then
  m = {
    birth = ARGV[5], version = 0, sent = -1, sent_at = 0, due = 0, now = now, minute = -1, day = -1, tpm = 0, rpm = 0,
    tpd = 0, rpd = 0, flight = 0, guard = 0, max_tpm = number(6), max_rpm = number(7), max_tpd = number(8),
    max_rpd = number(9), max_flight = number(10) }
  advance(m, now)
end

local function change_limits()
  if m.max_tpm == number(6) and m.max_rpm == number(7) and m.max_tpd == number(8) and m.max_rpd == number(9)
    and m.max_flight == number(10) then return end
  m.max_tpm, m.max_rpm, m.max_tpd, m.max_rpd, m.max_flight = number(6), number(7), number(8), number(9), number(10)
  has_changed = true
end
if ARGV[11] == '1' then change_limits() end

-- True once for each name.
local function is_new(name)
  return name ~= '' and call('HSETNX', KEYS[1], 'heard:' .. name, '1') == 1
end

local function add_reported(at)
  add_usage(m, number(at), number(at + 1), number(at + 2), number(at + 3), number(at + 4), number(at + 5))
  has_changed = true
end

-- Until what nobody could report is over: to the end of the minute, of the day for at most 120 s, and until an
-- instance that does not come back would have been dropped.
local function guard()
  local ends = m.now
  if m.max_flight >= 0 then ends = m.now + DROP_MS end
  if m.max_tpm >= 0 or m.max_rpm >= 0 then ends = math.max(ends, (m.minute + 1) * MINUTE_MS) end
  if m.max_tpd >= 0 or m.max_rpd >= 0 then
    ends = math.max(ends, math.min((m.day + 1) * DAY_MS, m.now + GUARD_MAX_MS))
  end
  m.guard = math.max(m.guard, ends)
end

local is_lost = ARGV[3] ~= '' and ARGV[3] ~= m.birth
if is_lost and is_new(instance .. ARGV[3]) then
  if ARGV[12] == '1' then guard() end
  is_new(ARGV[19])
  add_reported(13)
elseif is_new(ARGV[19]) then
  add_reported(20)
end

if not is_member(m) then
  m.flight = m.flight - call('HLEN', KEYS[3])
  call('DEL', KEYS[3])
  has_changed = true
end
-- A forgetful Redis must not hear of what has ended. Another one may have been told, and only the answer was lost: then
-- it is told again, so such a start is of no window to which anything could be given back, a second time perhaps.
local last = #ARGV
local ended = last - 5 * number(26) + 1
if is_lost then last = ended - 1 end
for at = 27, last, 5 do
  local has_ended = at >= ended
  local start = start_of(number(at + 1), number(at + 2), has_ended and 0 or number(at + 3), has_ended and 0 or number(at + 4))
  if call('HSETNX', KEYS[3], ARGV[at], start) == 1 then
    m.flight, has_changed = m.flight + 1, true
  end
end
call('ZADD', KEYS[2], text(m.now), instance)
local reply = answer(m, 0, has_changed, true)
-- Whoever registers must not go by what was broadcast before it was there.
reply[5] = allocation(m)
call('PEXPIRE', KEYS[1], text(KEEP_MS))
call('PEXPIRE', KEYS[2], text(KEEP_MS))
call('PEXPIRE', KEYS[3], text(KEEP_FLIGHT_MS))
return reply
`,
  },
  release: {
    sha: '98932f40f698f560d00435a810d252dd9ef3e402',
    text: `${PRELUDE}\n${POOL_STATE}\n-- release.lua: SLOT-7, ends jobs with what they have used.
-- KEYS     as in pool-state.lua, the instance's own
-- ARGV     the four of every call; then for each job its reference, tokens and requests, -1 where it did not say
-- returns  0 and the rest of every answer; or -1 if the caller has to register first, and nothing was done
local m = load()
if not m or not is_member(m) then return { NOT_A_MEMBER } end

local function end_job(start, tokens, requests)
  local thought_tokens, thought_requests, minute, day = string.match(start, '(%d+) (%d+) (%d+) (%d+)')
  m.flight = m.flight - 1
  if tokens < 0 then return end
  local more, more_requests = tokens - thought_tokens, requests - thought_requests
  -- What was not used goes back to the windows of the start, what was used beyond that counts now.
  add_usage(m, tonumber(minute), math.min(0, more), math.min(0, more_requests),
    tonumber(day), math.min(0, more), math.min(0, more_requests))
  add_usage(m, m.minute, math.max(0, more), math.max(0, more_requests),
    m.day, math.max(0, more), math.max(0, more_requests))
end

local has_changed = false
for at = 5, #ARGV, 3 do
  local start = call('HGET', KEYS[3], ARGV[at])
  if start then
    call('HDEL', KEYS[3], ARGV[at])
    end_job(start, tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]))
    has_changed = true
  end
end
return answer(m, 0, has_changed)
`,
  },
} as const
