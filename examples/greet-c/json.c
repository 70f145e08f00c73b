#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static const char *skip_space(const char *at, const char *end) {
  while (at < end && is_space(*at)) at++;
  return at;
}

// `at` is at the first quote; the byte after the last one is returned, or `end`.
static const char *skip_string(const char *at, const char *end) {
  for (at++; at < end; at++) {
    if (*at == '"') return at + 1;
    if (*at == '\\') at++;
  }
  return end;
}

static const char *skip_value(const char *at, const char *end) {
  int depth = 0;
  while (at < end) {
    char c = *at;
    if (c == '"') {
      at = skip_string(at, end);
    } else if (c == '{' || c == '[') {
      depth++;
      at++;
      continue;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;  // the object around a number or a word ends
      depth--;
      at++;
    } else if (depth > 0) {
      at++;
      continue;
    } else {
      while (at < end && !is_space(*at) && *at != ',' && *at != '}' && *at != ']') at++;
      return at;
    }
    if (depth == 0) return at;
  }
  return end;
}

struct json json_text(const char *text, size_t len) {
  const char *end = text + len;
  const char *at = skip_space(text, end);
  return (struct json){at, skip_value(at, end)};
}

bool json_member(struct json object, const char *key, struct json *value) {
  const char *at = object.at;
  const char *end = object.end;
  if (at >= end || *at != '{') return false;
  at = skip_space(at + 1, end);
  while (at < end && *at == '"') {
    struct json name = {at, skip_string(at, end)};
    at = skip_space(name.end, end);
    if (at >= end || *at != ':') return false;
    at = skip_space(at + 1, end);
    struct json found = {at, skip_value(at, end)};
    if (json_equals(name, key)) {
      *value = found;
      return true;
    }
    at = skip_space(found.end, end);
    if (at >= end || *at != ',') return false;
    at = skip_space(at + 1, end);
  }
  return false;
}

bool json_is_string(struct json value) {
  return value.end - value.at >= 2 && value.at[0] == '"' && value.end[-1] == '"';
}

bool json_is_number(struct json value) {
  return value.at < value.end && (*value.at == '-' || (*value.at >= '0' && *value.at <= '9'));
}

bool json_equals(struct json value, const char *text) {
  size_t len;
  char *decoded = json_decode(value, &len);
  bool equal = decoded && len == strlen(text) && memcmp(decoded, text, len) == 0;
  free(decoded);
  return equal;
}

// Four hexadecimal digits, or -1.
static int32_t hex4(const char *at, const char *end) {
  if (end - at < 4) return -1;
  int32_t code = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i];
    int digit;
    if (c >= '0' && c <= '9') digit = c - '0';
    else if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    else if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    else return -1;
    code = code * 16 + digit;
  }
  return code;
}

static char *put_utf8(char *out, uint32_t code) {
  if (code < 0x80) {
    *out++ = (char)code;
  } else if (code < 0x800) {
    *out++ = (char)(0xc0 | code >> 6);
    *out++ = (char)(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *out++ = (char)(0xe0 | code >> 12);
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    *out++ = (char)(0x80 | (code & 0x3f));
  } else {
    *out++ = (char)(0xf0 | code >> 18);
    *out++ = (char)(0x80 | (code >> 12 & 0x3f));
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    *out++ = (char)(0x80 | (code & 0x3f));
  }
  return out;
}

char *json_decode(struct json value, size_t *len) {
  if (!json_is_string(value)) return NULL;
  const char *at = value.at + 1;
  const char *end = value.end - 1;
  // No escape is shorter than what it stands for.
  char *text = malloc((size_t)(end - at) + 1);
  if (!text) return NULL;
  char *out = text;
  while (at < end) {
    if (*at != '\\') {
      *out++ = *at++;
      continue;
    }
    static const char escapes[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (++at == end) goto refused;
    char c = *at++;
    const char *known = strchr(escapes, c);
    if (known && *known) {
      *out++ = meanings[known - escapes];
      continue;
    }
    if (c != 'u') goto refused;
    int32_t code = hex4(at, end);
    if (code < 0) goto refused;
    at += 4;
    // A character beyond U+FFFF is written as two halves, and half of one means nothing.
    if (code >= 0xd800 && code < 0xe000) {
      int32_t low = code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex4(at + 2, end) : -1;
      if (low < 0xdc00 || low > 0xdfff) goto refused;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    }
    out = put_utf8(out, (uint32_t)code);
  }
  *out = 0;
  *len = (size_t)(out - text);
  return text;

refused:
  free(text);
  return NULL;
}

void json_print(FILE *out, struct json value) {
  fwrite(value.at, 1, (size_t)(value.end - value.at), out);
}

void json_print_string(FILE *out, const char *text, size_t len) {
  putc('"', out);
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c == '"' || c == '\\') {
      putc('\\', out);
      putc(c, out);
    } else if (c == '\n') {
      fputs("\\n", out);
    } else if (c < 0x20) {
      fprintf(out, "\\u%04x", c);
    } else {
      putc(c, out);
    }
  }
  putc('"', out);
}
