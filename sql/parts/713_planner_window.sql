CREATE FUNCTION mnemo._unit_window(
    p_form text,
    p_groups text[],
    p_now timestamp,
    OUT since timestamp,
    OUT before timestamp
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_number record;
    v_asked text := rtrim(p_groups[3], 's');
    v_unit text := CASE v_asked WHEN 'fortnight' THEN 'week' ELSE v_asked END;
    v_step interval := CASE v_asked WHEN 'fortnight' THEN interval '14 days'
        ELSE ('1 ' || v_asked)::interval END;
    v_today timestamp := date_trunc('day', p_now);
BEGIN
    SELECT n.fewest, n.most INTO v_number FROM mnemo._planner_number(p_groups[2]) AS n;
    -- Years that no calendar of the server has.
    IF v_unit IN ('year', 'decade') AND v_number.most > 1000 THEN
        RETURN;
    END IF;
    IF p_form = 'ago' THEN
        since := date_trunc(v_unit, p_now - v_number.most * v_step);
        before := date_trunc(v_unit, p_now - v_number.fewest * v_step) + ('1 ' || v_unit)::interval;
    ELSIF p_form = 'hence' THEN
        since := date_trunc(v_unit, p_now + v_number.fewest * v_step);
        before := date_trunc(v_unit, p_now + v_number.most * v_step) + ('1 ' || v_unit)::interval;
    ELSIF v_unit IN ('minute', 'hour') THEN
        since := p_now - CASE p_form WHEN 'back' THEN v_number.most ELSE 0 END * v_step;
        before := p_now + CASE p_form WHEN 'back' THEN 0 ELSE v_number.most END * v_step;
    ELSE
        since := v_today - CASE p_form WHEN 'back' THEN v_number.most ELSE 0 END * v_step;
        before := v_today + interval '1 day'
            + CASE p_form WHEN 'back' THEN 0 ELSE v_number.most END * v_step;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._unit_window(text, text[], timestamp) IS
    'The window of the forms ago and hence, the minute, hour, day, week, month or year that lies '
    'so far away, and of the forms back and ahead, from then to today or from today to then, both '
    'included.';

CREATE FUNCTION mnemo._named_window(
    p_form text,
    p_groups text[],
    p_now timestamp,
    p_ahead boolean,
    OUT since timestamp,
    OUT before timestamp
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_today timestamp := date_trunc('day', p_now);
    v_unit text := CASE p_groups[3] WHEN 'weekend' THEN 'week' ELSE p_groups[3] END;
    v_step interval;
BEGIN
    IF p_form = 'day' THEN
        since := v_today + CASE
            WHEN p_groups[2] = 'day before yesterday' THEN -2
            WHEN p_groups[2] IN ('yesterday', 'last night') THEN -1
            WHEN p_groups[2] = 'tomorrow' THEN 1
            WHEN p_groups[2] = 'day after tomorrow' THEN 2
            ELSE 0 END * interval '1 day';
        before := since + CASE p_groups[2] WHEN 'last night' THEN interval '36 hours'
            WHEN 'tonight' THEN interval '30 hours' ELSE interval '1 day' END;
    ELSIF p_form = 'lately' THEN
        since := v_today - CASE WHEN p_groups[2] LIKE 'other %' THEN interval '14 days'
            ELSE interval '30 days' END;
        before := v_today + interval '1 day';
    ELSIF p_form = 'year' THEN
        since := mnemo._planner_day(p_groups[2]::integer, 1, 1);
        before := since + interval '1 year';
    ELSIF p_form = 'decade' THEN
        since := mnemo._planner_day(p_groups[2]::integer + CASE
            WHEN length(p_groups[2]) = 4 THEN 0 WHEN p_groups[2] < '30' THEN 2000 ELSE 1900 END,
            1, 1);
        before := since + interval '10 years';
    ELSIF p_form = 'weekend' THEN
        -- This one, unless the past is asked for before it has begun.
        before := date_trunc('week', v_today) + interval '7 days';
        IF NOT p_ahead AND before - interval '2 days' > v_today THEN
            before := before - interval '7 days';
        END IF;
        since := before - interval '2 days';
    ELSIF p_form = 'beyond' THEN
        v_step := ('1 ' || v_unit)::interval;
        since := date_trunc(v_unit, v_today)
            + CASE p_groups[4] WHEN 'before last' THEN -2 ELSE 2 END * v_step;
        before := since + v_step;
        IF p_groups[3] = 'weekend' THEN
            since := since + interval '5 days';
        END IF;
    ELSE
        v_step := CASE v_unit WHEN 'quarter' THEN interval '3 months'
            ELSE ('1 ' || v_unit)::interval END;
        since := date_trunc(v_unit, v_today) + CASE
            WHEN p_groups[2] IN ('last', 'previous') THEN -1
            WHEN p_groups[2] IN ('this', 'current') THEN 0
            ELSE 1 END * v_step;
        before := since + v_step;
        IF p_groups[3] = 'weekend' THEN
            since := since + interval '5 days';
        END IF;
    END IF;
END
$fn$;
COMMENT ON FUNCTION mnemo._named_window(text, text[], timestamp, boolean) IS
    'The window of the forms day (last night: from yesterday to noon; tonight: to six in the '
    'morning), lately (30 days; the other day: 14), year, decade, weekend, beyond (the week before '
    'last), and calendar.';

CREATE FUNCTION mnemo._yearly_window(
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
    v_which text := p_groups[2];
    v_name text := p_groups[3];
    v_month integer := CASE
        WHEN p_form = 'season' THEN CASE v_name
            WHEN 'spring' THEN 3 WHEN 'summer' THEN 6 WHEN 'winter' THEN 12 ELSE 9 END
        WHEN v_name LIKE 'christmas%' OR v_name LIKE 'new %eve' THEN 12
        WHEN v_name LIKE 'new %' THEN 1
        WHEN v_name LIKE 'valentine%' THEN 2
        ELSE 10 END;
    v_day integer := CASE
        WHEN p_form = 'season' OR v_name LIKE 'new %' AND v_month = 1 THEN 1
        WHEN v_name = 'christmas day' THEN 25
        WHEN v_month = 12 AND v_name LIKE 'christmas%' THEN 24
        WHEN v_month = 2 THEN 14
        ELSE 31 END;
    v_length interval := CASE WHEN p_form = 'season' THEN interval '3 months'
        WHEN v_name = 'christmas' THEN interval '3 days' ELSE interval '1 day' END;
BEGIN
    SELECT d.day INTO since
      FROM generate_series(-2, 2) AS y(away)
      CROSS JOIN LATERAL (
        SELECT mnemo._planner_day(
            coalesce(p_groups[4]::integer, extract(year FROM p_today)::integer + y.away),
            v_month, v_day) AS day
      ) AS d
     WHERE p_groups[4] IS NOT NULL
        OR CASE
            WHEN v_which = 'last' THEN d.day + v_length <= p_today
            WHEN v_which = 'next' THEN d.day > p_today
            WHEN p_ahead OR v_which = 'this' THEN d.day + v_length > p_today
            ELSE d.day <= p_today END
     ORDER BY CASE WHEN v_which <> 'last' AND (p_ahead OR v_which IN ('next', 'this'))
            THEN y.away ELSE -y.away END
     LIMIT 1;
    before := since + v_length;
END
$fn$;
COMMENT ON FUNCTION mnemo._yearly_window(text, text[], timestamp, boolean) IS
    'The window of the forms season (of the northern half of the world, three whole months, that '
    'of winter from December on) and feast (Christmas: 24 to 26 December): last: the latest that '
    'is over; next: the first to begin; this, or ahead: the first that is not over; else the '
    'latest that has begun.';

CREATE FUNCTION mnemo._time_words_in(
    p_text text,
    p_plain text[],
    OUT form text,
    OUT groups text[],
    OUT words text,
    OUT start integer
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_plain text COLLATE "C" := ' ' || array_to_string(p_plain, ' ') || ' ';
    v_words text[] := p_plain || CASE WHEN v_plain ~ '[0-9]' THEN '#' END;
    v_pattern text;
BEGIN
    LOOP
        -- Of the words that begin first the first rule. Few patterns are tried, because the server
        -- keeps few, and to make one costs more than all the rest.
        SELECT r.form, r.pattern, r.start INTO form, v_pattern, start
          FROM (
            SELECT t.place, t.form, t.pattern, regexp_instr(v_plain, t.pattern) AS start
              FROM mnemo._time_rules() AS t
             WHERE t.triggers && v_words
          ) AS r
         WHERE r.start > 0
         ORDER BY r.start, r.place
         LIMIT 1;
        EXIT WHEN form IS NULL;
        groups := regexp_match(substr(v_plain, start), '^(' || v_pattern || ')');
        words := groups[1];
        groups := groups[2:];
        -- A number within an identifier is no year.
        EXIT WHEN form <> 'year' OR p_text COLLATE "C" ~ ('(?:^|[^A-Za-z0-9_./:@#-])' || groups[2]
            || '(?![A-Za-z0-9_/@#-]|[.:][A-Za-z0-9])');
        v_plain := overlay(v_plain PLACING translate(words, '0123456789', '__________') FROM start);
    END LOOP;
END
$fn$;
COMMENT ON FUNCTION mnemo._time_words_in(text, text[]) IS
    'The first time words of a text, given with its folded words: their form, the groups of its '
    'pattern, and where they begin in the words with one space before, between and after them. '
    'form is NULL for none.';

CREATE FUNCTION mnemo._planner_window(
    p_text text,
    p_plain text[],
    p_now timestamptz,
    OUT first_place integer,
    OUT last_place integer,
    OUT since timestamptz,
    OUT before timestamptz,
    OUT label text
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, mnemo, pg_temp
AS $fn$
DECLARE
    v_text text COLLATE "C" := ' ' || array_to_string(p_plain, ' ') || ' ';
    v_now timestamp := p_now AT TIME ZONE 'UTC';
    v_found record;
    v_groups text[];
    v_ahead boolean;
    v_window record;
BEGIN
    SELECT w.form, w.groups, w.words, w.start INTO v_found
      FROM mnemo._time_words_in(p_text, p_plain) AS w;
    IF v_found.form IS NULL OR v_now < timestamp '0001-01-01' THEN
        RETURN;
    END IF;
    v_groups := v_found.groups;
    v_ahead := CASE
        WHEN v_groups[1] = 'since' THEN false
        WHEN v_groups[1] IN ('until', 'till') OR v_groups[2] = 'by' THEN true
        WHEN v_text ~ mnemo._planner_phrases('past') THEN false
        WHEN v_text ~ mnemo._planner_phrases('future') THEN true
        ELSE v_found.form IN ('weekday', 'weekend', 'feast') END;
    IF v_found.form IN ('date', 'day_month', 'month_day') THEN
        v_window := mnemo._day_window(v_found.form, v_groups, date_trunc('day', v_now), v_ahead);
    ELSIF v_found.form = 'month' THEN
        v_window := mnemo._month_window(v_groups, date_trunc('day', v_now), v_ahead);
    ELSIF v_found.form = 'weekday' THEN
        v_window := mnemo._weekday_window(v_groups, date_trunc('day', v_now), v_ahead);
    ELSIF v_found.form IN ('ago', 'hence', 'back', 'ahead') THEN
        v_window := mnemo._unit_window(v_found.form, v_groups, v_now);
    ELSIF v_found.form IN ('season', 'feast') THEN
        v_window := mnemo._yearly_window(v_found.form, v_groups, date_trunc('day', v_now), v_ahead);
    ELSE
        v_window := mnemo._named_window(v_found.form, v_groups, v_now, v_ahead);
    END IF;
    IF v_window.since < timestamp '0001-01-01' OR v_window.before > timestamp '9999-12-31'
        OR v_window.since IS NULL
    THEN
        RETURN;
    END IF;
    first_place := length(regexp_replace(left(v_text, v_found.start), '[^ ]+', '', 'g'));
    last_place := first_place - 1 + length(regexp_replace(v_found.words, '[^ ]+', '', 'g'));
    label := regexp_replace(btrim(v_found.words, ' '), '([0-9]{4}) ([0-9]{2}) ([0-9]{2})',
        E'\\1-\\2-\\3');
    since := CASE WHEN v_groups[1] IN ('before', 'until', 'till') THEN NULL
        WHEN v_groups[1] = 'after' THEN v_window.before ELSE v_window.since END AT TIME ZONE 'UTC';
    before := CASE WHEN v_groups[1] IN ('since', 'after') THEN NULL
        WHEN v_groups[1] = 'before' THEN v_window.since ELSE v_window.before END AT TIME ZONE 'UTC';
END
$fn$;
COMMENT ON FUNCTION mnemo._planner_window(text, text[], timestamptz) IS
    'The window of the first time words of a text, given with its folded words, resolved against '
    'p_now in UTC: the places of its first and last word, its first instant, the first behind it '
    '(NULL for open), and the words. since and after leave the end open, before and until the '
    'beginning. All NULL without time words, and for a time outside the years 1 to 9999.';
