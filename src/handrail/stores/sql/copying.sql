-- What copying a store asks, of any table. The names of a table and its columns take the place of those in braces.

-- name: first
SELECT {columns} FROM {table} ORDER BY {key} LIMIT ?1

-- name: after_1
SELECT {columns} FROM {table} WHERE {key} > ?2 ORDER BY {key} LIMIT ?1

-- name: after_2
SELECT {columns} FROM {table} WHERE ({key}) > (?2, ?3) ORDER BY {key} LIMIT ?1

-- name: after_3
SELECT {columns} FROM {table} WHERE ({key}) > (?2, ?3, ?4) ORDER BY {key} LIMIT ?1

-- name: count
SELECT count(*) FROM {table}
