// JSON, as much of it as a package needs: find a member, read a string, print a string.
//
// A value is not turned into a tree. It is the part of the line where its text stands, and is
// copied from there as it is, or decoded when it is a string.
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// The JSON text of a value: from `at` up to, not including, `end`.
struct json {
  const char *at;
  const char *end;
};

// The value that a text of `len` bytes begins with, without the space around it.
struct json json_text(const char *text, size_t len);

// Finds a member of an object. False if there is none, or if `object` is no object.
bool json_member(struct json object, const char *key, struct json *value);

// Whether the value is a string, or a number.
bool json_is_string(struct json value);
bool json_is_number(struct json value);

// Whether the value is the string `text`.
bool json_equals(struct json value, const char *text);

// The string decoded to UTF-8, ending in a zero byte, or NULL if the value is no string or has
// an escape that means nothing. The caller frees it.
char *json_decode(struct json value, size_t *len);

// Prints a value as it stood in its text.
void json_print(FILE *out, struct json value);

// Prints bytes as a JSON string, with its quotes.
void json_print_string(FILE *out, const char *text, size_t len);

#endif
