// Runs a program once and says what it took: measure STDIN PROGRAM [ARGUMENT]…
//
// The program gets the contents of the file STDIN through a pipe that then ends. On stdout come a
// line of numbers – when the program was started and when it had ended (CLOCK_MONOTONIC, ns), user
// and system time (µs), minor and major page faults, peak memory (KiB), exit status, and how many
// bytes it printed on stdout and on stderr – and then those bytes.
//
// It is small and static itself on purpose: a new program's peak memory begins with that of the
// process that started it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// What fits into a pipe: nobody reads it while the program runs.
enum { PIPE_BYTES = 65536 };

extern char **environ;

static void give_up(const char *what) {
  fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
  exit(125);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long micros(struct timeval time) {
  return time.tv_sec * 1000000LL + time.tv_usec;
}

static size_t read_all(int from, char *into) {
  size_t have = 0;
  for (;;) {
    ssize_t got = read(from, into + have, PIPE_BYTES - have);
    if (got < 0) give_up("read");
    if (got == 0 || have + got == PIPE_BYTES) return have + got;
    have += got;
  }
}

static void write_all(int to, const char *from, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    ssize_t put = write(to, from + done, bytes - done);
    if (put < 0) give_up("write");
    done += put;
  }
}

int main(int argc, char **argv) {
  static char input[PIPE_BYTES], out[PIPE_BYTES], err[PIPE_BYTES];
  if (argc < 3) {
    fputs("usage: measure STDIN PROGRAM [ARGUMENT]...\n", stderr);
    return 125;
  }
  int file = open(argv[1], O_RDONLY | O_CLOEXEC);
  if (file < 0) give_up(argv[1]);
  size_t input_bytes = read_all(file, input);

  int in_pipe[2], out_pipe[2], err_pipe[2];
  if (pipe2(in_pipe, O_CLOEXEC) || pipe2(out_pipe, O_CLOEXEC) || pipe2(err_pipe, O_CLOEXEC)) give_up("pipe");
  write_all(in_pipe[1], input, input_bytes);
  close(in_pipe[1]);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in_pipe[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out_pipe[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err_pipe[1], 2);

  pid_t child;
  struct rusage usage;
  int status;
  long long started = now();
  errno = posix_spawn(&child, argv[2], &actions, NULL, argv + 2, environ);
  if (errno) give_up(argv[2]);
  if (wait4(child, &status, 0, &usage) < 0) give_up("wait4");
  long long ended = now();

  close(out_pipe[1]);
  close(err_pipe[1]);
  size_t out_bytes = read_all(out_pipe[0], out), err_bytes = read_all(err_pipe[0], err);
  printf("%lld %lld %lld %lld %ld %ld %ld %d %zu %zu\n", started, ended, micros(usage.ru_utime),
         micros(usage.ru_stime), usage.ru_minflt, usage.ru_majflt, usage.ru_maxrss,
         WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out_bytes, err_bytes);
  fflush(stdout);
  write_all(1, out, out_bytes);
  write_all(1, err, err_bytes);
  return 0;
}
