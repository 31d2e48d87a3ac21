// A peer: htsim (https://github.com/Broadcom/csg-htsim), the packet simulator that data-centre transports are studied with, on the fat tree of limit_fattree.rs.
// A program by itself, measured side by side with the simulator by benches/simulate.rs, on htsim's library: its event list, queues, pipes and constant-rate sources.
// Run: make -C $HTSIM/sim libhtsim.a && g++ -O3 -march=native -DNDEBUG -I$HTSIM/sim htsim_fattree.cc $HTSIM/sim/libhtsim.a -o htsim_fattree && taskset -c 1 ./htsim_fattree 8 1000
//
// k-ary fat tree (k=8: 128 hosts, 80 switches, 384 10 Gb/s duplex links, 100 ns pipes, 1024-frame output FIFOs), permutation host i -> (i+64) mod 128
// (always between pods: 6 links a packet), frames of 1500 bytes at 95 % of line rate. Packets carry their route, as htsim has it: d-mod-k, worked out before.
// packet-hops = packets that a pipe has taken.
#include "cbr.h"
#include "eventlist.h"
#include "pipe.h"
#include "queue.h"
#include "route.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>

static double Cpu () { struct timespec t; clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

static uint64_t g_hops = 0;

// A wire: a FIFO at its sender, and the time of flight.
struct CountingPipe : Pipe
{
  CountingPipe (EventList &events) : Pipe (100000, events) {}
  void receivePacket (Packet &packet) override { g_hops++; Pipe::receivePacket (packet); }
};

struct Wire
{
  Queue queue;
  CountingPipe pipe;
  Wire (EventList &events) : queue (10000000000ULL, 1024 * 1500, events, NULL), pipe (events) {}
  void On (Route &route) { route.push_back (&queue); route.push_back (&pipe); }
};

int main (int argc, char **argv)
{
  uint32_t k = argc > 1 ? atoi (argv[1]) : 8, h = k / 2, hosts = k * h * h;
  uint64_t us = argc > 2 ? atoll (argv[2]) : 1000;
  EventList &events = EventList::getTheEventList ();
  events.setEndtime (us * 1000000ULL);
  // Host to edge and back, edge to aggregation and back, aggregation to core and back: each hosts wires.
  std::vector<std::unique_ptr<Wire>> wires[6];
  for (auto &level : wires)
    for (uint32_t i = 0; i < hosts; i++) level.emplace_back (new Wire (events));
  std::vector<std::unique_ptr<CbrSrc>> sources; std::vector<std::unique_ptr<CbrSink>> sinks; std::vector<std::unique_ptr<Route>> routes;
  for (uint32_t from = 0; from < hosts; from++)
    {
      uint32_t to = (from + hosts / 2) % hosts, edge_from = from / h, edge_to = to / h, pod_from = edge_from / h, pod_to = edge_to / h;
      uint32_t up = to % h, core = to / h % h; // d-mod-k
      std::unique_ptr<Route> route (new Route ());
      wires[0][from]->On (*route);
      wires[1][edge_from * h + up]->On (*route);
      wires[2][(pod_from * h + up) * h + core]->On (*route);
      wires[3][(up * h + core) * k + pod_to]->On (*route);
      wires[4][(pod_to * h + up) * h + edge_to % h]->On (*route);
      wires[5][to]->On (*route);
      sinks.emplace_back (new CbrSink ());
      route->push_back (sinks.back ().get ());
      sources.emplace_back (new CbrSrc (events, 9500000000ULL));
      sources.back ()->connect (*route, *sinks.back (), from * 9001);
      routes.push_back (std::move (route));
    }
  double begun = Cpu ();
  while (events.doNextEvent ()) {}
  double cpu = Cpu () - begun;
  uint64_t delivered = 0, dropped = 0;
  for (auto &sink : sinks) delivered += sink->_received;
  for (auto &level : wires)
    for (auto &wire : level) dropped += wire->queue.num_drops ();
  printf ("htsim_fattree k=%u us=%lu cpu=%.3f delivered=%lu dropped=%lu hops=%lu hops/s=%.0f\n", k, us, cpu, delivered, dropped, g_hops, g_hops / cpu);
}
