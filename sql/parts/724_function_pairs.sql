-- Questions in scripts without spaces: pairs of characters that hold a sentence together.

CREATE FUNCTION mnemo._function_characters()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E'\\u6211\\u4F60\\u60A8\\u4ED6\\u5979\\u5B83\\u4EEC\\u5011\\u7684\\u4E86\\u5417\\u55CE'
        '\\u5462\\u5427\\u554A\\u662F\\u4EC0\\u4E48\\u9EBC\\u8C01\\u8AB0\\u54EA\\u91CC\\u88E1'
        '\\u51E0\\u5E7E\\u591A\\u5C11\\u600E\\u4E3A\\u70BA\\u4F55\\u5BF9\\u5C0D\\u5728\\u6709'
        '\\u548C\\u4E0E\\u8DDF\\u8FD9\\u90A3\\u500B\\u4E2A\\u4E5F\\u5C31\\u8981\\u4F1A\\u6703'
        '\\u8BF7\\u8ACB\\u628A\\u88AB\\u4ECE\\u306F\\u304C\\u3092\\u306B\\u3067\\u306E\\u3082'
        '\\u3068\\u3078\\u304B\\u306A\\u79C1\\u50D5';
COMMENT ON FUNCTION mnemo._function_characters() IS
    'Characters of Chinese and Japanese that hold sentences together: pronouns, particles, asking '
    'words, for a bracket expression.';

CREATE FUNCTION mnemo._function_pair(
    p_before text,
    p_word text,
    p_next text
)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN octet_length(p_word) = char_length(p_word)
        OR p_word COLLATE "C" !~ (E'^(?:[\\u3041-\\u309F]{2}|\\u540D[\\u5B57\\u524D]|.?['
            || mnemo._function_characters() || '].?)$') THEN NULL
    WHEN p_word COLLATE "C" ~ ('^[' || mnemo._function_characters() || '][^'
            || mnemo._function_characters() || E'\\u3041-\\u309F]$')
        AND p_next COLLATE "C" ~ ('^.[' || mnemo._function_characters() || ']$')
        AND right(p_word, 1) = left(p_next, 1) THEN p_next
    WHEN p_word COLLATE "C" ~ ('^[^' || mnemo._function_characters() || E'\\u3041-\\u309F]['
            || mnemo._function_characters() || ']$')
        AND right(p_before, 1) IS DISTINCT FROM left(p_word, 1) THEN p_word
    ELSE '' END;
COMMENT ON FUNCTION mnemo._function_pair(text, text, text) IS
    'Of a pair of characters, as _terms has them of scripts without spaces, in which a character '
    'is one of _function_characters, or which is hiragana alone or a word for name: the empty '
    'text, as it asks for little. Where the other character stands in no pair that asks, being '
    'between two of those: the next pair, which answers it too; at the beginning of a run: the '
    'pair. NULL for other words.';
