;; hello: a function package by hand, without a toolchain.
;;
;; The module is an MCP server on stdio. A request arrives as one line of JSON on stdin:
;;
;;   {"jsonrpc":"2.0","id":"call-1","method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}
;;
;; and its answer leaves as one line of JSON on stdout:
;;
;;   {"jsonrpc":"2.0","id":"call-1","result":{"content":[{"type":"text","text":"Hello, Ada!"}],...}}
;;
;; Requests come one at a time: the next is sent when the last is answered. After the last answer
;; stdin ends, and returning from `_start` is the exit with status 0.
;;
;; How it is made:
;;   - a value of the request is never decoded, only found: two addresses in the line, where its
;;     JSON text begins and ends. The id and the name are copied as they stand there, quotes and
;;     escapes included, into the answer, where the same text means the same again;
;;   - our own texts end in a zero byte, so that no length has to be counted by hand.
;;
;; When you change a text: each has a fixed slot in memory, from its own address to the next one's.
;; A longer text runs into the next slot and is overwritten by it without a word, zero byte included;
;; move the addresses after it, up to 65536, where the input begins.
;;
;; Memory:   256 …     what we compare with and what we print
;;         65536 …     what was read from stdin, growing with the longest line
(module
  ;; The two functions of WASI preview 1 that the protocol needs. Both take a list of buffers
  ;; (address and length, here always one) and store how many bytes they moved.
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))

  (memory (export "memory") 2)

  ;; Where WASI finds our buffer's address and length, and where it stores the count.
  (global $BUFFER i32 (i32.const 0))
  (global $BUFFER_LEN i32 (i32.const 4))
  (global $MOVED i32 (i32.const 8))

  ;; Members of a request.
  (global $ID i32 (i32.const 256))
  (data (i32.const 256) "id\00")
  (global $METHOD i32 (i32.const 272))
  (data (i32.const 272) "method\00")
  (global $PARAMS i32 (i32.const 288))
  (data (i32.const 288) "params\00")
  (global $NAME i32 (i32.const 304))
  (data (i32.const 304) "name\00")
  (global $ARGUMENTS i32 (i32.const 320))
  (data (i32.const 320) "arguments\00")

  ;; Values that we know, as JSON: with their quotes.
  (global $DISCOVER i32 (i32.const 336))
  (data (i32.const 336) "\"server/discover\"\00")
  (global $LIST i32 (i32.const 368))
  (data (i32.const 368) "\"tools/list\"\00")
  (global $CALL i32 (i32.const 400))
  (data (i32.const 400) "\"tools/call\"\00")
  (global $GREET i32 (i32.const 432))
  (data (i32.const 432) "\"greet\"\00")
  (global $EMPTY i32 (i32.const 448))
  (data (i32.const 448) "\"\"\00")

  ;; Every answer is $OPEN, the request's id, and one of these.
  (global $OPEN i32 (i32.const 512))
  (data (i32.const 512) "{\"jsonrpc\":\"2.0\",\"id\":\00")

  (global $DISCOVERED i32 (i32.const 1024))
  (data (i32.const 1024)
    ",\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
    "\"capabilities\":{\"tools\":{}},\"ttlMs\":86400000,\"cacheScope\":\"public\"}}\n\00")

  (global $LISTED i32 (i32.const 1536))
  (data (i32.const 1536)
    ",\"result\":{\"resultType\":\"complete\",\"tools\":[{\"name\":\"greet\","
    "\"description\":\"Greet someone by name.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\",\"description\":\"Who to greet.\"}},\"required\":[\"name\"]},"
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}}],"
    "\"ttlMs\":86400000,\"cacheScope\":\"public\"}}\n\00")

  ;; A greeting: the name stands in it twice, once for the model and once for programs.
  (global $GREETED i32 (i32.const 2560))
  (data (i32.const 2560)
    ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"Hello, \00")
  (global $GREETED_MESSAGE i32 (i32.const 2688))
  (data (i32.const 2688) "!\"}],\"structuredContent\":{\"message\":\"Hello, \00")
  (global $GREETED_END i32 (i32.const 2752))
  (data (i32.const 2752) "!\"}}}\n\00")

  ;; A failure that the model should read is a result with `isError`.
  (global $NO_NAME i32 (i32.const 2816))
  (data (i32.const 2816)
    ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","
    "\"text\":\"name must be a string that is not empty\"}],\"isError\":true}}\n\00")

  ;; A JSON-RPC error is for requests that should not have been sent at all.
  (global $NO_TOOL i32 (i32.const 3072))
  (data (i32.const 3072) ",\"error\":{\"code\":-32602,\"message\":\"unknown tool\"}}\n\00")
  (global $NO_METHOD i32 (i32.const 3200))
  (data (i32.const 3200) ",\"error\":{\"code\":-32601,\"message\":\"method not found\"}}\n\00")

  ;; Input: the bytes from $INPUT to $filled were read; the line in hand is the part before
  ;; $line_end, and the next one begins at $next.
  (global $INPUT i32 (i32.const 65536))
  (global $filled (mut i32) (i32.const 65536))
  (global $line_end (mut i32) (i32.const 65536))
  (global $next (mut i32) (i32.const 65536))

  ;; What $member found: where the value's JSON text begins, and the byte after it.
  (global $value (mut i32) (i32.const 0))
  (global $value_end (mut i32) (i32.const 0))

  (func (export "_start")
    (loop $requests
      (if (call $read_line)
        (then
          (call $answer)
          (br $requests)))))

  ;; Answers the line in hand, if it is a request.
  (func $answer
    (local $message i32)
    (local.set $message (call $skip_space (global.get $INPUT)))

    ;; No id, or an id that is neither string nor number: a notification, which has no answer.
    (if (i32.eqz (call $member (local.get $message) (global.get $ID))) (then (return)))
    (if (i32.eqz (call $is_string_or_number (global.get $value))) (then (return)))
    ;; No method: an answer, and we asked nothing.
    (if (i32.eqz (call $member (local.get $message) (global.get $METHOD))) (then (return)))

    ;; The id is looked for again because $member keeps only its last find.
    (call $print (global.get $OPEN))
    (drop (call $member (local.get $message) (global.get $ID)))
    (call $print_bytes (global.get $value) (i32.sub (global.get $value_end) (global.get $value)))

    (drop (call $member (local.get $message) (global.get $METHOD)))
    (if (call $value_is (global.get $DISCOVER))
      (then (call $print (global.get $DISCOVERED)) (return)))
    (if (call $value_is (global.get $LIST))
      (then (call $print (global.get $LISTED)) (return)))
    (if (call $value_is (global.get $CALL))
      (then (call $answer_call (local.get $message)) (return)))
    (call $print (global.get $NO_METHOD)))

  ;; Prints the rest of the answer to a `tools/call`: everything after its id.
  (func $answer_call (param $message i32)
    (local $params i32) (local $name i32) (local $name_len i32)
    (if (call $member (local.get $message) (global.get $PARAMS))
      (then (local.set $params (global.get $value))))

    ;; Which tool?
    (if (i32.eqz (call $member (local.get $params) (global.get $NAME)))
      (then (call $print (global.get $NO_TOOL)) (return)))
    (if (i32.eqz (call $value_is (global.get $GREET)))
      (then (call $print (global.get $NO_TOOL)) (return)))

    ;; Nobody has checked the arguments against our schema.
    (if (i32.eqz (call $member (local.get $params) (global.get $ARGUMENTS)))
      (then (call $print (global.get $NO_NAME)) (return)))
    (if (i32.eqz (call $member (global.get $value) (global.get $NAME)))
      (then (call $print (global.get $NO_NAME)) (return)))
    (if (i32.ne (call $byte (global.get $value)) (i32.const 0x22)) ;; "
      (then (call $print (global.get $NO_NAME)) (return)))
    (if (call $value_is (global.get $EMPTY))
      (then (call $print (global.get $NO_NAME)) (return)))

    ;; The name without its quotes goes between our own.
    (local.set $name (i32.add (global.get $value) (i32.const 1)))
    (local.set $name_len (i32.sub (i32.sub (global.get $value_end) (i32.const 1)) (local.get $name)))
    (call $print (global.get $GREETED))
    (call $print_bytes (local.get $name) (local.get $name_len))
    (call $print (global.get $GREETED_MESSAGE))
    (call $print_bytes (local.get $name) (local.get $name_len))
    (call $print (global.get $GREETED_END)))

  ;; ---- JSON: enough to find a member -------------------------------------------------------

  ;; Finds the member $key (one of our texts) of the object that begins at $object; its value is
  ;; then at $value. 0 if there is none, or no object. Members of objects inside are passed over,
  ;; and so is whatever stands in a string.
  (func $member (param $object i32) (param $key i32) (result i32)
    (local $at i32) (local $name i32) (local $found i32)
    (if (i32.ne (call $byte (local.get $object)) (i32.const 0x7b)) (then (return (i32.const 0)))) ;; {
    (local.set $at (call $skip_space (i32.add (local.get $object) (i32.const 1))))
    (loop $members
      (if (i32.ne (call $byte (local.get $at)) (i32.const 0x22)) (then (return (i32.const 0)))) ;; "
      (local.set $name (i32.add (local.get $at) (i32.const 1)))
      (local.set $at (call $skip_string (local.get $at)))
      (local.set $found
        (call $equal (local.get $name) (i32.sub (local.get $at) (i32.const 1)) (local.get $key)))

      (local.set $at (call $skip_space (local.get $at)))
      (if (i32.ne (call $byte (local.get $at)) (i32.const 0x3a)) (then (return (i32.const 0)))) ;; :
      (local.set $at (call $skip_space (i32.add (local.get $at) (i32.const 1))))
      (global.set $value (local.get $at))
      (local.set $at (call $skip_value (local.get $at)))
      (global.set $value_end (local.get $at))
      (if (local.get $found) (then (return (i32.const 1))))

      (local.set $at (call $skip_space (local.get $at)))
      (if (i32.ne (call $byte (local.get $at)) (i32.const 0x2c)) (then (return (i32.const 0)))) ;; ,
      (local.set $at (call $skip_space (i32.add (local.get $at) (i32.const 1))))
      (br $members))
    unreachable)

  ;; The address after the value that begins at $at.
  (func $skip_value (param $at i32) (result i32)
    (local $byte i32) (local $depth i32)
    (loop $parts
      (local.set $byte (call $byte (local.get $at)))
      (if (i32.eq (local.get $byte) (i32.const 0x22)) ;; "
        (then
          (local.set $at (call $skip_string (local.get $at)))
          (if (i32.eqz (local.get $depth)) (then (return (local.get $at))))
          (br $parts)))
      (if (i32.or (i32.eq (local.get $byte) (i32.const 0x7b)) (i32.eq (local.get $byte) (i32.const 0x5b))) ;; { [
        (then
          (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $parts)))
      (if (i32.or (i32.eq (local.get $byte) (i32.const 0x7d)) (i32.eq (local.get $byte) (i32.const 0x5d))) ;; } ]
        (then
          ;; The end of an object that a number or a word stood last in.
          (if (i32.eqz (local.get $depth)) (then (return (local.get $at))))
          (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (if (i32.eqz (local.get $depth)) (then (return (local.get $at))))
          (br $parts)))
      ;; Outside of any object, a number or a word ends at a comma, a space, or the line's end.
      (if (i32.eqz (local.get $depth))
        (then
          (if (i32.or (i32.eq (local.get $byte) (i32.const 0x2c)) (i32.le_u (local.get $byte) (i32.const 0x20)))
            (then (return (local.get $at))))))
      (if (i32.ge_u (local.get $at) (global.get $line_end)) (then (return (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $parts))
    unreachable)

  ;; The address after the string whose first quote is at $at.
  (func $skip_string (param $at i32) (result i32)
    (local $byte i32)
    (loop $bytes
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (if (i32.ge_u (local.get $at) (global.get $line_end)) (then (return (global.get $line_end))))
      (local.set $byte (call $byte (local.get $at)))
      (if (i32.eq (local.get $byte) (i32.const 0x22)) ;; "
        (then (return (i32.add (local.get $at) (i32.const 1)))))
      ;; A backslash takes the byte after it along: \" ends nothing.
      (if (i32.eq (local.get $byte) (i32.const 0x5c))
        (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
      (br $bytes))
    unreachable)

  (func $skip_space (param $at i32) (result i32)
    (loop $bytes
      (if (i32.le_u (i32.sub (call $byte (local.get $at)) (i32.const 1)) (i32.const 0x1f))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $bytes))))
    (local.get $at))

  (func $is_string_or_number (param $at i32) (result i32)
    (local $byte i32)
    (local.set $byte (call $byte (local.get $at)))
    (i32.or
      (i32.or (i32.eq (local.get $byte) (i32.const 0x22)) (i32.eq (local.get $byte) (i32.const 0x2d))) ;; " -
      (i32.le_u (i32.sub (local.get $byte) (i32.const 0x30)) (i32.const 9)))) ;; 0 to 9

  ;; Whether the value that $member found is exactly $text.
  (func $value_is (param $text i32) (result i32)
    (call $equal (global.get $value) (global.get $value_end) (local.get $text)))

  ;; Whether the bytes from $at to $end are exactly $text.
  (func $equal (param $at i32) (param $end i32) (param $text i32) (result i32)
    (loop $bytes
      (if (i32.ge_u (local.get $at) (local.get $end))
        (then (return (i32.eqz (i32.load8_u (local.get $text))))))
      (if (i32.ne (i32.load8_u (local.get $at)) (i32.load8_u (local.get $text)))
        (then (return (i32.const 0))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (br $bytes))
    unreachable)

  ;; The byte at $at, or 0 outside of the line in hand.
  (func $byte (param $at i32) (result i32)
    (if (result i32)
      (i32.and
        (i32.ge_u (local.get $at) (global.get $INPUT))
        (i32.lt_u (local.get $at) (global.get $line_end)))
      (then (i32.load8_u (local.get $at)))
      (else (i32.const 0))))

  ;; ---- stdin and stdout --------------------------------------------------------------------

  ;; Reads until a whole line is in hand; 0 at the end of stdin.
  (func $read_line (result i32)
    (local $at i32) (local $room i32)
    ;; What was read beyond the last line moves to the front.
    (memory.copy
      (global.get $INPUT)
      (global.get $next)
      (i32.sub (global.get $filled) (global.get $next)))
    (global.set $filled
      (i32.sub (global.get $filled) (i32.sub (global.get $next) (global.get $INPUT))))
    (global.set $next (global.get $INPUT))
    (local.set $at (global.get $INPUT))
    (loop $reads
      ;; Look for the end of the line in what is new.
      (block $searched
        (loop $bytes
          (br_if $searched (i32.ge_u (local.get $at) (global.get $filled)))
          (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x0a))
            (then
              (global.set $line_end (local.get $at))
              (global.set $next (i32.add (local.get $at) (i32.const 1)))
              (return (i32.const 1))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $bytes)))

      ;; A line as long as the memory: grow it by as much as there is. If that fails, we trap.
      (local.set $room (i32.sub (i32.shl (memory.size) (i32.const 16)) (global.get $filled)))
      (if (i32.eqz (local.get $room))
        (then
          (local.set $room (i32.shl (memory.size) (i32.const 16)))
          (if (i32.eq (memory.grow (memory.size)) (i32.const -1)) (then unreachable))))

      (i32.store (global.get $BUFFER) (global.get $filled))
      (i32.store (global.get $BUFFER_LEN) (local.get $room))
      (if (call $fd_read (i32.const 0) (global.get $BUFFER) (i32.const 1) (global.get $MOVED))
        (then unreachable))
      (global.set $filled (i32.add (global.get $filled) (i32.load (global.get $MOVED))))
      (br_if $reads (i32.load (global.get $MOVED))))
    ;; Nothing came: stdin has ended, and a line that does not end is no request.
    (i32.const 0))

  ;; Prints $text up to its zero byte.
  (func $print (param $text i32)
    (local $end i32)
    (local.set $end (local.get $text))
    (loop $bytes
      (if (i32.load8_u (local.get $end))
        (then
          (local.set $end (i32.add (local.get $end) (i32.const 1)))
          (br $bytes))))
    (call $print_bytes (local.get $text) (i32.sub (local.get $end) (local.get $text))))

  (func $print_bytes (param $at i32) (param $len i32)
    (loop $writes
      (if (local.get $len)
        (then
          (i32.store (global.get $BUFFER) (local.get $at))
          (i32.store (global.get $BUFFER_LEN) (local.get $len))
          (if (call $fd_write (i32.const 1) (global.get $BUFFER) (i32.const 1) (global.get $MOVED))
            (then unreachable))
          ;; Fewer bytes than asked may have gone.
          (local.set $at (i32.add (local.get $at) (i32.load (global.get $MOVED))))
          (local.set $len (i32.sub (local.get $len) (i32.load (global.get $MOVED))))
          (br $writes))))))
