// The loads of benches/smpi on SimGrid's SMPI (Debian: libsimgrid-dev, 3.32): what it costs, and what it says.
//
//   smpicc -O3 smpi_loads.c -o smpi_loads
//   smpirun -platform smpi_cluster.xml -hostfile HOSTS -np N --cfg=smpi/simulate-computation:no --cfg=smpi/alltoall:pair
//     --cfg=smpi/allreduce:rab_rdb ./smpi_loads pingpong TIMES | alltoall TIMES BYTES | allreduce TIMES BYTES [shared]
//
// pingpong: between the first and the last rank, 8 B to 4 MiB. Buffers of collectives are real ones, or with "shared" SMPI's, which all ranks have in one
// place, so that it copies nothing. The last line says the CPU seconds and the memory of the simulator up to there: the peak, but with "shared" the
// proportional set at the end, since a peak counts a shared page once for each rank.
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// CPU seconds of this thread, which is all of SMPI's: the kernel brings the figure up to date when it yields.
static double cpu (void)
{
  unsigned long long ns = 0;
  sched_yield ();
  FILE *f = fopen ("/proc/self/schedstat", "r");
  if (f) { if (fscanf (f, "%llu", &ns) != 1) ns = 0; fclose (f); }
  return ns / 1e9;
}

static long memory_kib (int shared)
{
  char line[256];
  long kib = 0;
  FILE *f = fopen (shared ? "/proc/self/smaps_rollup" : "/proc/self/status", "r");
  while (f && fgets (line, sizeof line, f)) sscanf (line, shared ? "Pss: %ld" : "VmHWM: %ld", &kib);
  if (f) fclose (f);
  return kib;
}

static void bounce (char *buffer, int bytes, int times, int rank, int last)
{
  for (int i = 0; i < times; i++)
    {
      if (rank == 0) MPI_Send (buffer, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
      MPI_Recv (buffer, bytes, MPI_BYTE, rank == 0 ? last : 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank != 0) MPI_Send (buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

int main (int argc, char **argv)
{
  int rank, n;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &n);
  const char *what = argc > 1 ? argv[1] : "pingpong";
  int times = argc > 2 ? atoi (argv[2]) : 100, bytes = argc > 3 ? atoi (argv[3]) : 1024, shared = argc > 4;
  double begin = MPI_Wtime ();
  if (!strcmp (what, "pingpong"))
    {
      char *buffer = malloc (4 << 20);
      for (int size = 8; size <= 4 << 20; size *= 2)
        {
          double t = MPI_Wtime ();
          if (rank == 0 || rank == n - 1) bounce (buffer, size, times, rank, n - 1);
          if (rank == 0 && (size == 8 || size == 1 << 20))
            printf ("half_%d=%.6f ", size, (MPI_Wtime () - t) / (2 * times) * 1e6);
        }
      free (buffer);
    }
  else
    {
      size_t all = strcmp (what, "alltoall") ? bytes : (size_t) n * bytes;
      char *from = shared ? SMPI_SHARED_MALLOC (all) : malloc (all), *to = shared ? SMPI_SHARED_MALLOC (all) : malloc (all);
      for (int i = 0; i < times; i++)
        if (!strcmp (what, "alltoall"))
          MPI_Alltoall (from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, MPI_COMM_WORLD);
        else
          MPI_Allreduce (from, to, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
  MPI_Barrier (MPI_COMM_WORLD);
  if (rank == 0)
    {
      double took = cpu ();
      printf ("simulated=%.9f cpu=%.4f kib=%ld\n", MPI_Wtime () - begin, took, memory_kib (shared));
    }
  MPI_Finalize ();
}
