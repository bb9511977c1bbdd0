-- register.lua: SLOT-13, an instance joins, or comes back. Redis hears what it has in flight, and what it has used if
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
