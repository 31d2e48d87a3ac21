// A peer: ns-3 used in the leanest way, on the fat tree of limit_fattree.rs. A program by itself, measured side by side with the simulator by benches/simulate.rs.
// Run: g++ -O3 -march=native -DNDEBUG ns3_fattree.cc -o ns3_fattree -lns3-core -lns3-network -lns3-point-to-point -lns3-internet -lns3-applications -lns3-traffic-control -lns3-nix-vector-routing && taskset -c 1 ./ns3_fattree --routing=lean   (in this folder; Debian: apt-get install libns3-dev, 3.37)
//
// Peer scenario FT8: k-ary fat tree (k=8: 128 hosts, 80 switches, 384 10 Gb/s duplex links, 100 ns wires,
// 1024-frame output FIFOs), permutation host i -> (i+64) mod 128 (always between pods: 6 links a packet),
// UDP-like CBR of 1500-byte frames at --load (0.95) of line rate for --simtime seconds, then drained.
//   --routing=lean   : forwarding in the point-to-point receive callback by a d-mod-k table (no IP stack, conflict-free)
//   --routing=nix    : IPv4 + UDP with nix-vector routing (no ECMP; collisions on core links, hence drops)
//   --routing=global : IPv4 + UDP with global routing, random ECMP per packet
// packet-hops = frames received from a link by any node (counted by PhyRxEnd-equivalent: see Count()).
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/internet-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/traffic-control-module.h"
#include <sys/resource.h>
#include <chrono>
#include <ctime>
#include <cstdio>
using namespace ns3;
// CPU time of the process: steadier than wall time on a shared machine (both are printed; the rates are per CPU second)
static double Cpu () { struct timespec t; clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

struct DstHeader : public Header
{
  uint32_t dst = 0, seq = 0;
  static TypeId GetTypeId () { static TypeId t = TypeId ("DstHeader").SetParent<Header> ().AddConstructor<DstHeader> (); return t; }
  TypeId GetInstanceTypeId () const override { return GetTypeId (); }
  uint32_t GetSerializedSize () const override { return 8; }
  void Serialize (Buffer::Iterator i) const override { i.WriteU32 (dst); i.WriteU32 (seq); }
  uint32_t Deserialize (Buffer::Iterator i) override { dst = i.ReadU32 (); seq = i.ReadU32 (); return 8; }
  void Print (std::ostream &) const override {}
};

static uint64_t g_sent = 0, g_delivered = 0, g_drop = 0, g_hops = 0, g_rng = 88172645463325252ull; static bool g_jit = false;
static uint32_t K = 8, H, N; static bool g_lean = true;
static std::vector<std::vector<Ptr<NetDevice>>> g_port;      // [node][port]; node numbering: hosts, edges, aggs, cores
static std::vector<Ptr<Socket>> g_sock; static std::vector<Ipv4Address> g_ip; static Time g_gap, g_stop;
static void DropTrace (Ptr<const Packet>) { g_drop++; }
static void DropTraceQ (Ptr<const QueueDiscItem>) { g_drop++; }
static void CountIpRx (Ptr<const Packet>) { g_hops++; }

static uint32_t NextPort (uint32_t n, uint32_t dst)          // d-mod-k up, tree down
{
  uint32_t h = K / 2, e = dst / h, pod = e / h;
  if (n < H + K * h) { uint32_t me = n - H; return me == e ? dst % h : h + (dst % h); }
  if (n < H + 2 * K * h) { uint32_t me = n - H - K * h; return me / h == pod ? e % h : h + (e % h); }
  return pod;
}
static bool SwitchRx (uint32_t n, Ptr<NetDevice>, Ptr<const Packet> p, uint16_t proto, const Address &)
{
  g_hops++;
  DstHeader h; p->PeekHeader (h);
  Ptr<NetDevice> out = g_port[n][NextPort (n, h.dst)];
  out->Send (p->Copy (), out->GetBroadcast (), proto);
  return true;
}
static bool HostRx (Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &) { g_hops++; g_delivered++; return true; }
static void SinkRx (Ptr<Socket> s) { while (Ptr<Packet> p = s->Recv ()) g_delivered++; }
static void SendOne (uint32_t src)
{
  if (Simulator::Now () >= g_stop) return;
  uint32_t dst = (src + H / 2) % H;
  if (g_lean)
    {
      Ptr<Packet> p = Create<Packet> (1490); DstHeader h; h.dst = dst; p->AddHeader (h);
      g_port[src][0]->Send (p, g_port[src][0]->GetBroadcast (), 0x800);
    }
  else g_sock[src]->SendTo (Create<Packet> (1470), 0, InetSocketAddress (g_ip[dst], 9));
  g_sent++;
  Simulator::Schedule (g_gap, &SendOne, src);
}

int main (int argc, char **argv)
{
  std::string routing = "lean", sched = "ns3::MapScheduler"; double simtime = 0.002, load = 0.95;
  CommandLine cmd; cmd.AddValue ("routing", "", routing); cmd.AddValue ("simtime", "", simtime); cmd.AddValue ("load", "", load);
  cmd.AddValue ("sched", "", sched); cmd.AddValue ("k", "", K); cmd.Parse (argc, argv);
  Time::SetResolution (Time::PS);
  ObjectFactory f; f.SetTypeId (sched); Simulator::SetScheduler (f);
  g_lean = routing == "lean"; g_gap = PicoSeconds ((int64_t) (1200000 / load)); g_stop = Seconds (simtime);
  uint32_t h = K / 2; H = K * h * h; N = H + 2 * K * h + h * h; g_port.resize (N);
  Config::SetDefault ("ns3::DropTailQueue<Packet>::MaxSize", StringValue ("1024p"));
  Config::SetDefault ("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue (true));
  NodeContainer nodes; nodes.Create (N);
  if (!g_lean)
    {
      InternetStackHelper st; st.SetIpv6StackInstall (false);
      if (routing == "nix") { Ipv4NixVectorHelper nix; st.SetRoutingHelper (nix); }
      st.Install (nodes);
    }
  PointToPointHelper p2p; p2p.SetDeviceAttribute ("DataRate", StringValue ("10Gbps")); p2p.SetDeviceAttribute ("Mtu", UintegerValue (9000));
  p2p.SetChannelAttribute ("Delay", TimeValue (NanoSeconds (100)));
  Ipv4AddressHelper a; a.SetBase ("10.0.0.0", "255.255.255.252"); g_ip.resize (N);
  auto link = [&] (uint32_t x, uint32_t y) {
    NetDeviceContainer d = p2p.Install (nodes.Get (x), nodes.Get (y)); g_port[x].push_back (d.Get (0)); g_port[y].push_back (d.Get (1));
    if (!g_lean) { Ipv4InterfaceContainer c = a.Assign (d); if (x < H) g_ip[x] = c.GetAddress (0); a.NewNetwork (); }
    for (int j = 0; j < 2; j++)
      {
        DynamicCast<PointToPointNetDevice> (d.Get (j))->GetQueue ()->TraceConnectWithoutContext ("Drop", MakeCallback (&DropTrace));
        if (!g_lean) d.Get (j)->TraceConnectWithoutContext ("MacRx", MakeCallback (&CountIpRx));
      }
  };
  for (uint32_t i = 0; i < H; i++) link (i, H + i / h);
  for (uint32_t p = 0; p < K; p++) for (uint32_t e = 0; e < h; e++) for (uint32_t g = 0; g < h; g++) link (H + p * h + e, H + K * h + p * h + g);
  // core c = (agg index g) * h + j has its ports in pod order
  for (uint32_t p = 0; p < K; p++) for (uint32_t g = 0; g < h; g++) for (uint32_t j = 0; j < h; j++) link (H + K * h + p * h + g, H + 2 * K * h + g * h + j);
  auto ts = std::chrono::steady_clock::now ();
  if (g_lean)
    for (uint32_t n = 0; n < N; n++)
      for (auto &d : g_port[n])
        if (n < H) d->SetReceiveCallback (MakeCallback (&HostRx)); else d->SetReceiveCallback (MakeBoundCallback (&SwitchRx, n));
  else
    {
      if (routing == "global") Ipv4GlobalRoutingHelper::PopulateRoutingTables ();
      Config::ConnectWithoutContext ("/NodeList/*/$ns3::TrafficControlLayer/RootQueueDiscList/*/Drop", MakeCallback (&DropTraceQ));
      for (uint32_t i = 0; i < H; i++)
        {
          Ptr<Socket> s = Socket::CreateSocket (nodes.Get (i), UdpSocketFactory::GetTypeId ()); s->Bind (InetSocketAddress (Ipv4Address::GetAny (), 9));
          s->SetRecvCallback (MakeCallback (&SinkRx)); s->SetAttribute ("RcvBufSize", UintegerValue (1 << 20)); g_sock.push_back (s);
        }
    }
  for (uint32_t i = 0; i < H; i++) Simulator::Schedule (PicoSeconds (i * 9001), &SendOne, i);
  auto t0 = std::chrono::steady_clock::now (); double c0 = Cpu ();
  Simulator::Run ();
  double c = Cpu () - c0;
  double w = std::chrono::duration<double> (std::chrono::steady_clock::now () - t0).count (), setup = std::chrono::duration<double> (t0 - ts).count ();
  double tend = Simulator::Now ().GetSeconds (); uint64_t ev = Simulator::GetEventCount (); struct rusage ru; getrusage (RUSAGE_SELF, &ru);
  printf ("ns3_fattree routing=%s sched=%s k=%u simtime=%g drained_at=%.7f routing_setup=%.3f wall=%.3f cpu=%.3f events=%lu ev/s=%.0f sent=%lu delivered=%lu dropped=%lu hops=%lu hops/s=%.0f rss_MB=%.1f\n",
          routing.c_str (), sched.c_str (), K, simtime, tend, setup, w, c, ev, ev / c, g_sent, g_delivered, g_drop, g_hops, g_hops / c, ru.ru_maxrss / 1024.0);
  Simulator::Destroy ();
}
