-- Related words of everyday English: a question says barista, the record coffee and drink. The
-- entry of a word lists the words that a record about the same thing is likely to have; all are
-- folded as _terms folds them. They are kinds of daily life: food and drink, health, home, family,
-- work, sport, travel, shopping, music.

CREATE FUNCTION mnemo._related_words()
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN mnemo._related_a_to_f() || mnemo._related_g_to_o() || mnemo._related_p_to_z();
COMMENT ON FUNCTION mnemo._related_words() IS
    'English words, as _terms folds them, each with the words, spaces between, that a record about '
    'the same thing is likely to have. A constant.';
