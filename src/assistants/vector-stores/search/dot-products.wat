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
      (br_if $next_row (local.get $count)))))
