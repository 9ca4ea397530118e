/* The loops of STREAM as anybody would write them: the reference for memory.stream. Compiled twice, under the names
 * that STREAM_SUFFIX makes: with the flags of our baseline kernels, and for this processor (-march=native). */
#include <stddef.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define NAMED(name) JOIN(name, STREAM_SUFFIX)

void NAMED(stream_copy)(const double* restrict a, double* restrict c, size_t count) {
  for (size_t i = 0; i < count; i++) c[i] = a[i];
}

void NAMED(stream_scale)(double* restrict b, const double* restrict c, double q, size_t count) {
  for (size_t i = 0; i < count; i++) b[i] = q * c[i];
}

void NAMED(stream_add)(const double* restrict a, const double* restrict b, double* restrict c, size_t count) {
  for (size_t i = 0; i < count; i++) c[i] = a[i] + b[i];
}

void NAMED(stream_triad)(double* restrict a, const double* restrict b, const double* restrict c, double q, size_t count) {
  for (size_t i = 0; i < count; i++) a[i] = b[i] + q * c[i];
}
