-- pool-state.lua: what all instances have started on one model (SLOT-5, SLOT-13 to SLOT-15). It stands in front of
-- every other script of this folder, because Redis has no way to load one from another.
--
-- A model is three kinds of key, all in one slot of a cluster:
--   KEYS[1]  a hash: `m`, the state, packed in the order of `load` and `save`; `message`, the allocation that was
--            broadcast last; `heard:<id>`, a report that has been counted. Its name is also the channel's.
--   KEYS[2]  the instances, a sorted set by the time of their last sign of life
--   KEYS[3]  what one instance has in flight, a hash from a reference to `start_of`
-- A limit of -1 is none. `version` grows with every change, `sent` is the one that was broadcast last, at `sent_at`;
-- `due` is when the next broadcast is (0: nothing to tell). Every call begins with the same four arguments:
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

-- `[limit, share, common]` of a rate, or null.
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
