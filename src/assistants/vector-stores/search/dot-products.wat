;; Dot products of one query with many quantised vectors. `npm run kernel` builds dot-products-kernel.ts from it.
(module
  (memory (export "memory") 1)

  ;; For each of $count rows of $stride bytes at $data: the sum of its bytes, each multiplied by the 16-bit number of the
  ;; query that belongs to it, goes to $out as a 32-bit number. $count is at least 1, $stride a multiple of 16.
  (func (export "dots")
    (param $data i32) (param $query i32) (param $out i32) (param $count i32) (param $stride i32)
    (local $row_end i32) (local $query_at i32) (local $sum v128) (local $bytes v128)

    (loop $next_row
      (local.set $row_end (i32.add (local.get $data) (local.get $stride)))
      (local.set $query_at (local.get $query))
      (local.set $sum (v128.const i32x4 0 0 0 0))

      ;; 16 bytes of the row and 32 of the query at a time; four partial sums lie in $sum.
      (loop $next_bytes
        (local.set $bytes (v128.load align=16 (local.get $data)))
        (local.set $sum
          (i32x4.add
            (i32x4.add
              (local.get $sum)
              (i32x4.dot_i16x8_s
                (i16x8.extend_low_i8x16_s (local.get $bytes))
                (v128.load align=16 (local.get $query_at))))
            (i32x4.dot_i16x8_s
              (i16x8.extend_high_i8x16_s (local.get $bytes))
              (v128.load offset=16 align=16 (local.get $query_at)))))
        (local.set $query_at (i32.add (local.get $query_at) (i32.const 32)))
        (local.set $data (i32.add (local.get $data) (i32.const 16)))
        (br_if $next_bytes (i32.lt_u (local.get $data) (local.get $row_end))))

      (i32.store
        (local.get $out)
        (i32.add
          (i32.add
            (i32.add
              (i32x4.extract_lane 0 (local.get $sum))
              (i32x4.extract_lane 1 (local.get $sum)))
            (i32x4.extract_lane 2 (local.get $sum)))
          (i32x4.extract_lane 3 (local.get $sum))))
      (local.set $out (i32.add (local.get $out) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next_row (local.get $count))))

  ;; For each of $groups groups of 16 rows at $codes: the numbers that the tables have for a row's bits are added up. Of a
  ;; group in which a row has as much as $least says for the group, 16 bits for each, all sums go to $out, 16 bits for each
  ;; row, and its number goes to $found as a 32-bit number, one behind the other; the answer is how many there are. A group
  ;; has $pairs times 16 bytes, of each row one; a table has 16 numbers for the lower half of that byte and 16 for the upper
  ;; one, none above 127. $groups and $pairs are at least 1.
  (func (export "sums")
    (param $codes i32) (param $tables i32) (param $least i32) (param $found i32) (param $out i32)
    (param $groups i32) (param $pairs i32) (result i32)
    (local $group i32) (local $count i32) (local $group_end i32) (local $table i32) (local $enough v128)
    (local $bytes v128) (local $both v128) (local $all v128) (local $odd v128) (local $even v128)

    (loop $next_group
      (local.set $group_end (i32.add (local.get $codes) (i32.shl (local.get $pairs) (i32.const 4))))
      (local.set $table (local.get $tables))
      (local.set $all (v128.const i32x4 0 0 0 0))
      (local.set $odd (v128.const i32x4 0 0 0 0))

      ;; Sixteen sums of two numbers lie in $both, a byte for each row. Of two rows beside each other, $all gets both as one
      ;; number of 16 bits, of which what does not fit is lost, and $odd gets the second.
      (loop $next_pair
        (local.set $bytes (v128.load align=16 (local.get $codes)))
        (local.set $both
          (i8x16.add
            (i8x16.swizzle
              (v128.load align=16 (local.get $table))
              (v128.and
                (local.get $bytes)
                (v128.const i8x16 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15)))
            (i8x16.swizzle
              (v128.load offset=16 align=16 (local.get $table))
              (v128.and
                (i16x8.shr_u (local.get $bytes) (i32.const 4))
                (v128.const i8x16 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15 15)))))
        (local.set $all (i16x8.add (local.get $all) (local.get $both)))
        (local.set $odd (i16x8.add (local.get $odd) (i16x8.shr_u (local.get $both) (i32.const 8))))
        (local.set $table (i32.add (local.get $table) (i32.const 32)))
        (local.set $codes (i32.add (local.get $codes) (i32.const 16)))
        (br_if $next_pair (i32.lt_u (local.get $codes) (local.get $group_end))))

      ;; What is lost is the same on both sides: without the second rows, $all is the sum of the first ones.
      (local.set $even (i16x8.sub (local.get $all) (i16x8.shl (local.get $odd) (i32.const 8))))
      (local.set $enough (v128.load16_splat (i32.add (local.get $least) (i32.shl (local.get $group) (i32.const 1)))))
      (if
        (v128.any_true
          (v128.or
            (i16x8.ge_u (local.get $even) (local.get $enough))
            (i16x8.ge_u (local.get $odd) (local.get $enough))))
        (then
          (v128.store align=16
            (local.get $out)
            (i8x16.shuffle 0 1 16 17 2 3 18 19 4 5 20 21 6 7 22 23 (local.get $even) (local.get $odd)))
          (v128.store offset=16 align=16
            (local.get $out)
            (i8x16.shuffle 8 9 24 25 10 11 26 27 12 13 28 29 14 15 30 31 (local.get $even) (local.get $odd)))
          (local.set $out (i32.add (local.get $out) (i32.const 32)))
          (i32.store (i32.add (local.get $found) (i32.shl (local.get $count) (i32.const 2))) (local.get $group))
          (local.set $count (i32.add (local.get $count) (i32.const 1)))))
      (local.set $group (i32.add (local.get $group) (i32.const 1)))
      (br_if $next_group (i32.lt_u (local.get $group) (local.get $groups))))

    (local.get $count)))
