// A peer: ns-3 used in the leanest way, on a switch of sixteen ports. A program by itself, measured side by side with the simulator by benches/simulate.rs.
// Run: g++ -O3 -march=native -DNDEBUG ns3_switch.cc -o ns3_switch -lns3-core -lns3-network -lns3-point-to-point -lns3-csma -lns3-bridge -lns3-internet -lns3-applications -lns3-traffic-control && taskset -c 1 ./ns3_switch --mode=lean   (in this folder; Debian: apt-get install libns3-dev, 3.37)
//
// Peer scenario S16: 16-port 10 Gb/s output-queued switch (1024-frame FIFO per port), hosts 0..3 send
// 1500-byte frames back to back, each frame to a random host of 8..11; 5 ns wires.
//   --mode=lean : point-to-point devices, forwarding done in the receive callback (no IP stack)
//   --mode=csma : ns-3's own Ethernet switch (BridgeNetDevice on CSMA links), packet sockets
//   --mode=ip   : point-to-point devices, IPv4 router, UDP sockets, default traffic control
// A packet-hop is one frame carried over one link: (frames put on the wire by sources) + (frames delivered).
#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/csma-module.h"
#include "ns3/bridge-module.h"
#include "ns3/internet-module.h"
#include "ns3/applications-module.h"
#include "ns3/traffic-control-module.h"
#include <sys/resource.h>
#include <chrono>
#include <ctime>
#include <cstdio>
using namespace ns3;
// CPU time of the process: steadier than wall time on a shared machine (both are printed; the rates are per CPU second)
static double Cpu () { struct timespec t; clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

static uint64_t g_sent = 0, g_delivered = 0, g_drop = 0, g_rng = 88172645463325252ull;
static inline uint64_t Rnd () { g_rng ^= g_rng << 13; g_rng ^= g_rng >> 7; g_rng ^= g_rng << 17; return g_rng; }

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

static NetDeviceContainer g_hostDev, g_swDev;
static void DropTrace (Ptr<const Packet>) { g_drop++; }
static void DropTraceQ (Ptr<const QueueDiscItem>) { g_drop++; }
static bool SwitchRx (Ptr<NetDevice>, Ptr<const Packet> p, uint16_t proto, const Address &)
{
  DstHeader h; p->PeekHeader (h);
  Ptr<NetDevice> out = g_swDev.Get (h.dst);
  out->Send (p->Copy (), out->GetBroadcast (), proto);
  return true;
}
static bool HostRx (Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &) { g_delivered++; return true; }

static Time g_gap, g_stop; static uint32_t g_seq = 0; static int g_burst = 0;
static void SendLean (uint32_t src)
{
  if (Simulator::Now () >= g_stop) return;
  Ptr<Packet> p = Create<Packet> (1492 - 2);           // + 8 header + 2 PPP = 1500 on the wire
  DstHeader h; h.dst = 8 + (Rnd () & 3); h.seq = g_seq++; p->AddHeader (h);
  g_hostDev.Get (src)->Send (p, g_hostDev.Get (src)->GetBroadcast (), 0x800);
  g_sent++;
  Time gap = g_gap;
  if (g_burst && (Rnd () % g_burst) == 0) gap += g_gap * (int64_t) (Rnd () % (2 * g_burst));   // on/off bursts
  Simulator::Schedule (gap, &SendLean, src);
}
static void SendCsma (uint32_t src)
{
  if (Simulator::Now () >= g_stop) return;
  Ptr<Packet> p = Create<Packet> (1500 - 18);           // + 14 header + 4 FCS = 1500
  g_hostDev.Get (src)->Send (p, g_hostDev.Get (8 + (Rnd () & 3))->GetAddress (), 0x88b5);
  g_sent++;
  Simulator::Schedule (g_gap, &SendCsma, src);
}
static std::vector<Ptr<Socket>> g_sock; static std::vector<Ipv4Address> g_ip;
static void SendIp (uint32_t src)
{
  if (Simulator::Now () >= g_stop) return;
  Ptr<Packet> p = Create<Packet> (1500 - 30);           // + 8 UDP + 20 IP + 2 PPP = 1500
  g_sock[src]->SendTo (p, 0, InetSocketAddress (g_ip[8 + (Rnd () & 3)], 9));
  g_sent++;
  Simulator::Schedule (g_gap, &SendIp, src);
}
static void SinkRx (Ptr<Socket> s) { while (Ptr<Packet> p = s->Recv ()) g_delivered++; }

int main (int argc, char **argv)
{
  std::string mode = "lean", sched = "ns3::MapScheduler"; double simtime = 0.5; double load = 1.0;
  CommandLine cmd; cmd.AddValue ("mode", "", mode); cmd.AddValue ("simtime", "", simtime); cmd.AddValue ("load", "", load);
  cmd.AddValue ("sched", "", sched); cmd.AddValue ("burst", "", g_burst); cmd.Parse (argc, argv);
  Time::SetResolution (Time::PS);
  ObjectFactory f; f.SetTypeId (sched); Simulator::SetScheduler (f);
  g_gap = PicoSeconds ((int64_t) (1200000 / load)); g_stop = Seconds (simtime);
  NodeContainer hosts; hosts.Create (16); Ptr<Node> sw = CreateObject<Node> ();
  Config::SetDefault ("ns3::DropTailQueue<Packet>::MaxSize", StringValue ("1024p"));
  if (mode == "lean" || mode == "ip")
    {
      PointToPointHelper p2p; p2p.SetDeviceAttribute ("DataRate", StringValue ("10Gbps"));
      p2p.SetDeviceAttribute ("Mtu", UintegerValue (9000));
      p2p.SetChannelAttribute ("Delay", TimeValue (NanoSeconds (5)));
      for (int i = 0; i < 16; i++)
        {
          NetDeviceContainer d = p2p.Install (hosts.Get (i), sw); g_hostDev.Add (d.Get (0)); g_swDev.Add (d.Get (1));
          for (int j = 0; j < 2; j++) DynamicCast<PointToPointNetDevice> (d.Get (j))->GetQueue ()->TraceConnectWithoutContext ("Drop", MakeCallback (&DropTrace));
        }
      if (mode == "lean")
        {
          for (int i = 0; i < 16; i++) { g_swDev.Get (i)->SetReceiveCallback (MakeCallback (&SwitchRx)); g_hostDev.Get (i)->SetReceiveCallback (MakeCallback (&HostRx)); }
          for (int i = 0; i < 4; i++) Simulator::Schedule (PicoSeconds (i * 1000), &SendLean, i);
        }
      else
        {
          InternetStackHelper st; st.SetIpv6StackInstall (false); st.Install (hosts); st.Install (sw);
          Ipv4AddressHelper a; a.SetBase ("10.0.0.0", "255.255.255.0");
          for (int i = 0; i < 16; i++) { NetDeviceContainer d; d.Add (g_hostDev.Get (i)); d.Add (g_swDev.Get (i)); Ipv4InterfaceContainer c = a.Assign (d); g_ip.push_back (c.GetAddress (0)); a.NewNetwork (); }
          Ipv4GlobalRoutingHelper::PopulateRoutingTables ();
          Config::ConnectWithoutContext ("/NodeList/*/$ns3::TrafficControlLayer/RootQueueDiscList/*/Drop", MakeCallback (&DropTraceQ));
          for (int i = 0; i < 16; i++)
            {
              Ptr<Socket> s = Socket::CreateSocket (hosts.Get (i), UdpSocketFactory::GetTypeId ()); s->Bind (InetSocketAddress (Ipv4Address::GetAny (), 9));
              s->SetRecvCallback (MakeCallback (&SinkRx)); s->SetAttribute ("RcvBufSize", UintegerValue (1 << 20)); g_sock.push_back (s);
            }
          for (int i = 0; i < 4; i++) Simulator::Schedule (PicoSeconds (i * 1000), &SendIp, i);
        }
    }
  else
    {
      CsmaHelper cs; cs.SetChannelAttribute ("DataRate", StringValue ("10Gbps")); cs.SetChannelAttribute ("Delay", TimeValue (NanoSeconds (5)));
      for (int i = 0; i < 16; i++)
        {
          NetDeviceContainer d = cs.Install (NodeContainer (hosts.Get (i), sw)); g_hostDev.Add (d.Get (0)); g_swDev.Add (d.Get (1));
          d.Get (0)->TraceConnectWithoutContext ("MacTxDrop", MakeCallback (&DropTrace)); d.Get (1)->TraceConnectWithoutContext ("MacTxDrop", MakeCallback (&DropTrace));
        }
      BridgeHelper br; br.Install (sw, g_swDev);
      for (int i = 0; i < 16; i++) g_hostDev.Get (i)->SetReceiveCallback (MakeCallback (&HostRx));
      for (int i = 8; i < 12; i++)      // every destination says hello once, so that the bridge learns where it is
        { Ptr<NetDevice> d = g_hostDev.Get (i); Simulator::Schedule (NanoSeconds (10000 * (i - 7)), [d] () { d->Send (Create<Packet> (64), d->GetBroadcast (), 0x88b5); }); }
      for (int i = 0; i < 4; i++) Simulator::Schedule (PicoSeconds (100000000 + i * 1000), &SendCsma, i);
      Simulator::Schedule (PicoSeconds (99000000), [] () { g_delivered = 0; });
    }
  auto t0 = std::chrono::steady_clock::now (); double c0 = Cpu ();
  Simulator::Run ();
  double c = Cpu () - c0;
  double w = std::chrono::duration<double> (std::chrono::steady_clock::now () - t0).count ();
  uint64_t ev = Simulator::GetEventCount (), hops = g_sent + g_delivered;
  struct rusage ru; getrusage (RUSAGE_SELF, &ru);
  printf ("ns3_switch mode=%s sched=%s simtime=%g wall=%.3f cpu=%.3f events=%lu ev/s=%.0f sent=%lu delivered=%lu dropped=%lu hops=%lu hops/s=%.0f rss_MB=%.1f\n",
          mode.c_str (), sched.c_str (), simtime, w, c, ev, ev / c, g_sent, g_delivered, g_drop, hops, hops / c, ru.ru_maxrss / 1024.0);
  Simulator::Destroy ();
}
