// greet-c: a function package in C. It reads requests from stdin, a line each, and prints an
// answer a line on stdout, until stdin ends. Three tools:
//
//   greet {"name": …}   says hello
//   note  {"text": …}   writes a file below /volume/tmp and reads it back
//   fail  {}            fails in a way that the model can read
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "json.h"

static const char DISCOVERED[] =
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
    "\"capabilities\":{\"tools\":{}},\"ttlMs\":86400000,\"cacheScope\":\"public\"}";

static const char LISTED[] =
    "{\"resultType\":\"complete\",\"tools\":["
    "{\"name\":\"greet\",\"description\":\"Greet someone by name.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\",\"description\":\"Who to greet.\"}},\"required\":[\"name\"]},"
    "\"outputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"message\":{\"type\":\"string\"}},\"required\":[\"message\"]}},"
    "{\"name\":\"note\",\"description\":\"Write a note to a file and read it back.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"text\":{\"type\":\"string\",\"description\":\"What to write.\"}},\"required\":[\"text\"]}},"
    "{\"name\":\"fail\",\"description\":\"Fail, to see what a failure looks like.\","
    "\"inputSchema\":{\"type\":\"object\"}}],"
    "\"ttlMs\":86400000,\"cacheScope\":\"public\"}";

// Prints a result of one text block, with a second member if `rest` is not empty.
static void print_text_result(const char *text, size_t len, const char *rest) {
  fputs("{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":", stdout);
  json_print_string(stdout, text, len);
  printf("}]%s}", rest);
}

// A failure that the model should read.
static void print_failure(const char *why) {
  print_text_result(why, strlen(why), ",\"isError\":true");
}

static void greet(struct json arguments) {
  struct json name;
  size_t len;
  char *decoded = json_member(arguments, "name", &name) ? json_decode(name, &len) : NULL;
  if (!decoded || len == 0) {
    print_failure("name must be a string that is not empty");
  } else {
    char *message = malloc(len + sizeof "Hello, !");
    if (!message) abort();
    size_t message_len = 0;
    memcpy(message, "Hello, ", 7);
    message_len += 7;
    memcpy(message + message_len, decoded, len);
    message_len += len;
    message[message_len++] = '!';

    fputs("{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":", stdout);
    json_print_string(stdout, message, message_len);
    fputs("}],\"structuredContent\":{\"message\":", stdout);
    json_print_string(stdout, message, message_len);
    fputs("}}", stdout);
    free(message);
  }
  free(decoded);
}

// Paths are absolute: the host mounts /volume/tmp under just that name.
static const char NOTE_PATH[] = "/volume/tmp/note.txt";

static void print_file_failure(const char *what) {
  char why[160];
  snprintf(why, sizeof why, "%s cannot be %s: %s", NOTE_PATH, what, strerror(errno));
  print_failure(why);
}

static void note(struct json arguments) {
  struct json text;
  size_t len;
  char *decoded = json_member(arguments, "text", &text) ? json_decode(text, &len) : NULL;
  if (!decoded) {
    print_failure("text must be a string");
    return;
  }

  FILE *file = fopen(NOTE_PATH, "wb");
  bool written = file && fwrite(decoded, 1, len, file) == len;
  // What is still buffered is written on closing, and may fail there.
  if (file && fclose(file) != 0) written = false;
  free(decoded);
  if (!written) {
    print_file_failure("written");
    return;
  }

  file = fopen(NOTE_PATH, "rb");
  char *read = malloc(len + 1);
  if (!read) abort();
  if (!file || fread(read, 1, len + 1, file) != len) {
    print_file_failure("read back");
  } else {
    print_text_result(read, len, "");
  }
  if (file) fclose(file);
  free(read);
}

static void call(struct json params) {
  struct json name = {0};
  struct json arguments = {0};
  json_member(params, "name", &name);
  json_member(params, "arguments", &arguments);
  fputs(",\"result\":", stdout);
  if (json_equals(name, "greet")) {
    greet(arguments);
  } else if (json_equals(name, "note")) {
    note(arguments);
  } else if (json_equals(name, "fail")) {
    print_failure("this tool always fails");
  } else {
    print_failure("no tool of that name");
  }
}

static void answer(struct json message) {
  struct json id, method;
  struct json params = {0};
  // Without an id it is a notification, without a method an answer: neither is ours to answer.
  if (!json_member(message, "id", &id) || !(json_is_string(id) || json_is_number(id))) return;
  if (!json_member(message, "method", &method)) return;
  json_member(message, "params", &params);

  fputs("{\"jsonrpc\":\"2.0\",\"id\":", stdout);
  json_print(stdout, id);
  if (json_equals(method, "server/discover")) {
    printf(",\"result\":%s", DISCOVERED);
  } else if (json_equals(method, "tools/list")) {
    printf(",\"result\":%s", LISTED);
  } else if (json_equals(method, "tools/call")) {
    call(params);
  } else {
    fputs(",\"error\":{\"code\":-32601,\"message\":\"method not found\"}", stdout);
  }
  fputs("}\n", stdout);
  // The next request comes when this answer is seen.
  fflush(stdout);
}

int main(void) {
  char *line = NULL;
  size_t room = 0;
  ssize_t len;
  while ((len = getline(&line, &room, stdin)) >= 0) answer(json_text(line, (size_t)len));
  free(line);
  return 0;
}
