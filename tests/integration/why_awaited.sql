/* The first slice of a client that slept once in it: until its worker woke it */
SELECT slice.id FROM slice
JOIN thread_track ON thread_track.id = track_id
JOIN thread_state slept ON slept.utid = thread_track.utid
        AND slept.ts > slice.ts AND slept.ts + slept.dur < slice.ts + slice.dur
JOIN thread_state woken ON woken.utid = slept.utid AND woken.ts = slept.ts + slept.dur
JOIN thread waker ON waker.utid = woken.waker_utid
WHERE slice.name = 'wait for answer' AND slept.state NOT IN ('Running', 'R', 'R+')
GROUP BY slice.id HAVING count(*) = 1 AND max(waker.name) = 'worker'
ORDER BY slice.id LIMIT 1
