// fetch-c: a function package in C that calls an API. Two tools:
//
//   fetch {"url": …}             gives what a GET answers, as text
//   save  {"url": …, "name": …}  saves it as a file below /volume/tmp
//
// Which hosts it may reach is the operator's to say: `subako-loader call … --network policy.json`.
// json.h is that of the package beside it, ../greet-c.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "json.h"

// Sends a request and holds the answer; its length, or a negative number for a misuse.
__attribute__((import_module("subako_http"), import_name("request")))
int32_t subako_http_request(const uint8_t *ptr, int32_t len);

// Copies the held answer, whose length `request` has told; 0, or a negative number for a misuse.
__attribute__((import_module("subako_http"), import_name("read_response")))
int32_t subako_http_read_response(uint8_t *ptr, int32_t len);

static const char DISCOVERED[] =
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
    "\"capabilities\":{\"tools\":{}},\"ttlMs\":86400000,\"cacheScope\":\"public\"}";

static const char LISTED[] =
    "{\"resultType\":\"complete\",\"tools\":["
    "{\"name\":\"fetch\",\"description\":\"Read a page: what its URL answers, up to 256 KiB of text.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"url\":{\"type\":\"string\",\"description\":\"An https URL.\"}},\"required\":[\"url\"]}},"
    "{\"name\":\"save\",\"description\":\"Save what a URL answers as a file in /volume/tmp.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"url\":{\"type\":\"string\",\"description\":\"An https URL.\"},"
    "\"name\":{\"type\":\"string\",\"description\":\"The file's name.\"}},\"required\":[\"url\",\"name\"]}}],"
    "\"ttlMs\":86400000,\"cacheScope\":\"public\"}";

// Prints a result of one text block; `text` is a JSON string already.
static void print_text(struct json text, bool failed) {
  fputs("{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":", stdout);
  json_print(stdout, text);
  printf("}]%s}", failed ? ",\"isError\":true" : "");
}

// A failure that the model should read.
static void print_failure(const char *why) {
  fputs("{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":", stdout);
  json_print_string(stdout, why, strlen(why));
  fputs("}],\"isError\":true}", stdout);
}

// Sends a request and gives the answer, which the caller frees; NULL after a misuse.
static char *send_request(const char *request, size_t len, size_t *answer_len) {
  int32_t held = subako_http_request((const uint8_t *)request, (int32_t)len);
  if (held < 0) return NULL;
  char *answer = malloc((size_t)held);
  if (!answer) abort();
  if (subako_http_read_response((uint8_t *)answer, held) != 0) {
    free(answer);
    return NULL;
  }
  *answer_len = (size_t)held;
  return answer;
}

// GETs `url`, into the file `name` unless that is NULL, and prints the result of the tool.
static void get(struct json url, const char *name, size_t name_len) {
  char *request = NULL;
  size_t len = 0;
  FILE *out = open_memstream(&request, &len);
  if (!out) abort();
  // The URL is a JSON string, and goes on as it came.
  fputs("{\"url\":", out);
  json_print(out, url);
  if (name) {
    static const char below[] = "/volume/tmp/";
    char *path = malloc(sizeof below + name_len);
    if (!path) abort();
    memcpy(path, below, sizeof below - 1);
    memcpy(path + sizeof below - 1, name, name_len);
    fputs(",\"output\":{\"type\":\"file\",\"path\":", out);
    json_print_string(out, path, sizeof below - 1 + name_len);
    fputs("}", out);
    free(path);
  }
  fputs(",\"timeout_ms\":20000}", out);
  fclose(out);

  size_t answer_len = 0;
  char *answer = send_request(request, len, &answer_len);
  free(request);
  if (!answer) {
    print_failure("subako_http was misused");
    return;
  }
  struct json found, status, body, text, kind;
  struct json whole = json_text(answer, answer_len);
  if (json_member(whole, "ok", &found) && json_member(found, "status", &status) &&
      json_member(found, "body", &body)) {
    bool failed = *status.at != '2';
    if (json_member(body, "text", &text)) {
      print_text(text, failed);
    } else if (json_member(body, "path", &text)) {
      print_text(text, failed);
    } else {
      print_failure("the answer has no body");
    }
  } else if (json_member(whole, "error", &found) && json_member(found, "kind", &kind) &&
             json_member(found, "message", &text)) {
    // `kind` is for programs to decide by; the message is what the model reads.
    print_text(text, true);
  } else {
    print_failure("subako_http answered something else");
  }
  free(answer);
}

static void call(struct json params) {
  struct json tool = {0};
  struct json arguments = {0};
  struct json url, name;
  json_member(params, "name", &tool);
  json_member(params, "arguments", &arguments);
  fputs(",\"result\":", stdout);
  if (!json_member(arguments, "url", &url) || !json_is_string(url)) {
    print_failure("url must be a string");
  } else if (json_equals(tool, "fetch")) {
    get(url, NULL, 0);
  } else if (json_equals(tool, "save")) {
    size_t len = 0;
    char *decoded = json_member(arguments, "name", &name) ? json_decode(name, &len) : NULL;
    if (!decoded || len == 0) {
      print_failure("name must be a string that is not empty");
    } else {
      get(url, decoded, len);
    }
    free(decoded);
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
