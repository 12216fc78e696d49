-- Enters the era of this server. It is put in front of the scripts that need it, behind `run_id.lua`.
--
-- An era is the generation with which a server began. A replica that took over, and a server that started from a
-- snapshot, may lack invalidations: what was put in front of them was put in an earlier era.

-- Returns the era and the generation of a slot as text. The first call on another server begins both.
local function enter_era(generation_key, era_key, lifetime)
  local marker, generation = redis.call('GET', era_key), redis.call('GET', generation_key)
  if marker and generation and string.sub(marker, 18) == run_id() then
    return string.sub(marker, 1, 16), generation
  end
  local time = redis.call('TIME')
  local next = time[1] * 1000000 + time[2]
  if generation and tonumber(generation) >= next then next = tonumber(generation) + 1 end
  generation = string.format('%016.0f', next)
  redis.call('SET', generation_key, generation, 'PX', lifetime)
  redis.call('SET', era_key, generation .. ' ' .. run_id(), 'PX', lifetime)
  return generation, generation
end

