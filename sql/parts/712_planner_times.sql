-- Time words, resolved against a given now in UTC. A window holds its first instant and ends before
-- its last; weeks begin on Monday.

CREATE FUNCTION mnemo._time_part(
    p_name text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE p_name
    WHEN 'edge' THEN '(?:(since|until|till|before|after) )?(?:the )?'
    WHEN 'number' THEN '([0-9]{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven'
        '|twelve|(?:a )?couple(?: of)?|(?:a )?few|several)'
    WHEN 'unit' THEN 'minute|minutes|hour|hours|day|days|week|weeks|fortnight|fortnights|month'
        '|months|year|years|decade|decades'
    WHEN 'month' THEN 'january|february|march|april|may|june|july|august|september|october'
        '|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec'
    WHEN 'weekday' THEN 'monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|tues|wed'
        '|thu|thur|thurs|fri'
    WHEN 'day' THEN 'monday|tuesday|wednesday|thursday|friday|saturday|sunday'
    WHEN 'part' THEN '(?: (?:morning|afternoon|evening|night))?'
    WHEN 'season' THEN 'spring|summer|autumn|fall|winter'
    WHEN 'feast' THEN 'christmas(?: day| eve)?|new year(?: s)?(?: day| eve)?'
        '|valentine(?: s)?(?: day)?|halloween'
END;
COMMENT ON FUNCTION mnemo._time_part(text) IS
    'A part of the patterns of _time_rules: edge, number, unit, month, weekday, day (its full '
    'name), part (of a day), season or feast. NULL for any other.';

CREATE FUNCTION mnemo._time_rules()
RETURNS TABLE (place integer, form text, triggers text[], pattern text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 27
BEGIN ATOMIC
    SELECT r.place, r.form,
           string_to_array(replace(replace(replace(replace(replace(r.triggers,
               '{unit}', mnemo._time_part('unit')), '{month}', mnemo._time_part('month')),
               '{weekday}', mnemo._time_part('weekday')), '{day}', mnemo._time_part('day')),
               '{season}', mnemo._time_part('season')), '|'),
           ' ' || replace(replace(replace(replace(replace(replace(replace(replace(replace(
               r.pattern, '{edge}', mnemo._time_part('edge')),
               '{number}', mnemo._time_part('number')),
               '{unit}', '(' || mnemo._time_part('unit') || ')'),
               '{month}', '(' || mnemo._time_part('month') || ')'),
               '{weekday}', '(' || mnemo._time_part('weekday') || ')'),
               '{day}', '(' || mnemo._time_part('day') || ')'),
               '{part}', mnemo._time_part('part')),
               '{season}', '(' || mnemo._time_part('season') || ')'),
               '{feast}', '(' || mnemo._time_part('feast') || ')') || '(?= )'
      FROM (VALUES
        -- In each pattern the first group is the edge; # stands for any number.
        (1, 'date', '#', '{edge}(?:on )?([0-9]{4}) ([0-9]{2}) ([0-9]{2})'),
        (2, 'day_month', '{month}', '{edge}(?:on )?(?:the )?([0-9]{1,2})(?:st|nd|rd|th)? (?:of )?'
            '{month}(?: ([0-9]{4}))?'),
        (3, 'month_day', '{month}', '{edge}(?:on )?{month} (?:the )?([0-9]{1,2})(?:st|nd|rd|th)?'
            '(?: ([0-9]{4}))?'),
        (4, 'month', '{month}', '{edge}(in|during|last|next|by|early|late|mid'
            '|(?:beginning|start|middle|end) of|this(?! ma(?:y|rch) )'
            '|for(?! (?:april|may|june|august) )) {month}(?: ([0-9]{4}))?'),
        (5, 'month', '{month}', '(since|until|till|before|after)( ){month}(?: ([0-9]{4}))?'),
        (6, 'month', '{month}', '{edge}(){month} ([0-9]{4})'),
        (7, 'year', '#', '{edge}(?:in |during |of )?((?:19|20)[0-9]{2})'),
        (8, 'day', 'yesterday|today|tonight|tomorrow|night|morning|afternoon|evening',
            '{edge}(?:(?:earlier|later) )?(day before yesterday|day after tomorrow|last night'
            '|yesterday|today|tonight|tomorrow|this (?:morning|afternoon|evening))'
            '{part}'),
        (9, 'ago', 'ago|back|earlier', '{edge}{number} {unit} (?:ago|back|earlier)'),
        (10, 'hence', '{unit}', '{edge}in {number} {unit}(?: time)?'),
        (11, 'hence', 'from', '{edge}{number} {unit} from (?:now|today)'),
        (12, 'back', 'last|past|previous', '{edge}(?:in |over |during |within )?(?:the )?'
            '(?:last|past|previous) {number} {unit}'),
        (13, 'back', 'past', '{edge}(?:in |over |during |within )?(?:the )?past( ){unit}'),
        (14, 'ahead', 'next|coming|following', '{edge}(?:in |over |during |within )?(?:the )?'
            '(?:next|coming|following) {number} {unit}'),
        (15, 'calendar', 'week|weekend|month|quarter|year',
            '{edge}(?:(?:earlier|later|so far) )?(last|previous|this|current|next|coming|following)'
            ' (week|weekend|month|quarter|year)'),
        (16, 'weekday', '{weekday}', '{edge}(on|this|last|past|previous|next|coming|by)'
            ' {weekday}{part}'),
        (17, 'weekday', '{weekday}', '(since|until|till|before|after)( ){weekday}'),
        (18, 'lately', 'other|recent|recently|lately',
            '{edge}(?:in )?(other (?:day|night|evening|week)|recently|lately'
            '|recent (?:days|weeks|months))'),
        (19, 'beyond', 'last|next',
            '{edge}()(week|weekend|month|year) (before last|after next)'),
        (20, 'season', '{season}', '{edge}(?:(?:in|during|over|for) )?(last|this|next|in|during'
            '|over) (?:the )?{season}(?: (?:of )?([0-9]{4}))?'),
        (21, 'season', '{season}', '(since|until|till|before|after)( )(?:the )?{season}'
            '(?: (?:of )?([0-9]{4}))?'),
        (22, 'season', '{season}', '{edge}(){season} (?:of )?([0-9]{4})'),
        (23, 'feast', 'christmas|new|valentine|halloween',
            '{edge}(last|this|next|at|on|over|around|by) {feast}(?: ([0-9]{4}))?'),
        (24, 'feast', 'christmas|new|valentine|halloween',
            '(since|until|till|before|after)( ){feast}(?: ([0-9]{4}))?'),
        (25, 'decade', '#', '{edge}(?:in |during |from |of )?(?:the )?'
            '((?<=the )[0-9]0|(?:19|20)[0-9]0)s'),
        (26, 'weekend', 'weekend', '{edge}(at|on|over|during|for|by) (?:the )?weekend'),
        (27, 'weekday', '{day}', '(?<! every )(?<! each )(?<! any )(?<! a ){edge}(){day}{part}')
      ) AS r(place, form, triggers, pattern);
END;
COMMENT ON FUNCTION mnemo._time_rules() IS
    'The forms of English time words, in the order in which they count: words of which one is '
    'always among them, # for any number, and the pattern for a text of folded words with one '
    'space before, between and after them.';

CREATE FUNCTION mnemo._planner_number(
    p_words text,
    OUT fewest integer,
    OUT most integer
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
BEGIN
    IF p_words COLLATE "C" ~ '^[0-9]+$' THEN
        fewest := p_words;
    ELSIF p_words COLLATE "C" ~ 'few|several' THEN
        fewest := 2;
        most := 5;
        RETURN;
    ELSIF p_words COLLATE "C" ~ 'couple' THEN
        fewest := 2;
    ELSE
        fewest := coalesce(array_position(ARRAY['one', 'two', 'three', 'four', 'five', 'six',
            'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'], p_words), 1);
    END IF;
    most := fewest;
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_number(text) IS
    'The number of digits, of a word up to twelve, of a couple (2), of a few and several (2 to '
    '5); 1 for a, an and nothing.';

CREATE FUNCTION mnemo._planner_day(
    p_year integer,
    p_month integer,
    p_day integer
)
RETURNS timestamp
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_year >= 1 AND p_year <= 9999 AND p_month BETWEEN 1 AND 12
        AND p_day BETWEEN 1 AND extract(day FROM
            make_timestamp(p_year, p_month, 1, 0, 0, 0) + interval '1 month - 1 day')
    THEN make_timestamp(p_year, p_month, p_day, 0, 0, 0)
END;
COMMENT ON FUNCTION mnemo._planner_day(integer, integer, integer) IS
    'The beginning of a day; NULL where the calendar has no such day.';

CREATE FUNCTION mnemo._planner_month(
    p_word text
)
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_position(ARRAY['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct',
    'nov', 'dec'], left(p_word, 3));
COMMENT ON FUNCTION mnemo._planner_month(text) IS 'The number of a month by its English name.';

CREATE FUNCTION mnemo._day_window(
    p_form text,
    p_groups text[],
    p_today timestamp,
    p_ahead boolean,
    OUT since timestamp,
    OUT before timestamp
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_month integer;
    v_day integer;
    v_year integer;
BEGIN
    IF p_form = 'date' THEN
        since := mnemo._planner_day(
            p_groups[2]::integer, p_groups[3]::integer, p_groups[4]::integer);
    ELSE
        v_month := mnemo._planner_month(p_groups[CASE p_form WHEN 'day_month' THEN 3 ELSE 2 END]);
        v_day := p_groups[CASE p_form WHEN 'day_month' THEN 2 ELSE 3 END];
        v_year := p_groups[4];
        -- Without a year the nearest such day of the past, or of the future; 29 February may be
        -- eight years away.
        SELECT d.day INTO since
          FROM generate_series(0, 8) AS y(away)
          CROSS JOIN LATERAL (
            SELECT mnemo._planner_day(
                coalesce(v_year, extract(year FROM p_today)::integer
                    + CASE WHEN p_ahead THEN y.away ELSE -y.away END), v_month, v_day) AS day
          ) AS d
         WHERE d.day IS NOT NULL
           AND (v_year IS NOT NULL OR CASE WHEN p_ahead THEN d.day >= p_today
                ELSE d.day <= p_today END)
         ORDER BY y.away
         LIMIT 1;
    END IF;
    before := since + interval '1 day';
END
$fn$;
COMMENT ON FUNCTION mnemo._day_window(text, text[], timestamp, boolean) IS
    'The window of the forms date, day_month and month_day. NULL where the calendar has no such '
    'day.';

CREATE FUNCTION mnemo._month_window(
    p_groups text[],
    p_today timestamp,
    p_ahead boolean,
    OUT since timestamp,
    OUT before timestamp
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_this timestamp := date_trunc('month', p_today);
    v_year integer := coalesce(p_groups[4]::integer, extract(year FROM p_today)::integer);
BEGIN
    since := mnemo._planner_day(v_year, mnemo._planner_month(p_groups[3]), 1);
    IF p_groups[4] IS NULL THEN
        since := since + CASE
            WHEN p_groups[2] = 'last' AND since >= v_this THEN interval '-1 year'
            WHEN p_groups[2] = 'next' AND since <= v_this THEN interval '1 year'
            WHEN p_groups[2] IN ('last', 'next', 'this') THEN interval '0'
            WHEN p_ahead AND since < v_this THEN interval '1 year'
            WHEN NOT p_ahead AND since > v_this THEN interval '-1 year'
            ELSE interval '0' END;
    END IF;
    before := since + interval '1 month';
END
$fn$;
COMMENT ON FUNCTION mnemo._month_window(text[], timestamp, boolean) IS
    'The window of the form month: without a year the nearest of the past, this one included, or '
    'of the future; last and next are other months than this one.';

CREATE FUNCTION mnemo._weekday_window(
    p_groups text[],
    p_today timestamp,
    p_ahead boolean,
    OUT since timestamp,
    OUT before timestamp
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_monday timestamp := date_trunc('week', p_today);
BEGIN
    since := v_monday + (array_position(ARRAY['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
        left(p_groups[3], 3)) - 1) * interval '1 day';
    since := since + CASE
        WHEN p_groups[2] IN ('last', 'past', 'previous') THEN
            CASE WHEN since >= p_today THEN interval '-7 days' ELSE interval '0' END
        WHEN p_groups[2] = 'next' THEN interval '7 days'
        WHEN p_groups[2] = 'this' THEN interval '0'
        WHEN p_groups[2] = 'coming' THEN
            CASE WHEN since <= p_today THEN interval '7 days' ELSE interval '0' END
        WHEN p_ahead AND since < p_today THEN interval '7 days'
        WHEN NOT p_ahead AND since >= p_today THEN interval '-7 days'
        ELSE interval '0' END;
    before := since + interval '1 day';
END
$fn$;
COMMENT ON FUNCTION mnemo._weekday_window(text[], timestamp, boolean) IS
    'The window of the form weekday: this: of this week; next: of the next week; last: the latest '
    'before today; coming: the first after today; else the latest before today, or the first from '
    'today on.';
