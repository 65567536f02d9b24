import { BlockList, isIP } from 'node:net';

/**
 * Which addresses are somebody's on the open internet. What is not is refused: a page must not lead a tool to the user's own machine, to
 * machines beside it, or to the cloud's metadata. (Registries: IANA's special-purpose addresses, IPv4 and IPv6.)
 */
const v4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  // Azure's own service address, the one metadata address that looks public.
  ['168.63.129.16', 32],
];

/** Inside 2000::/3, all of which is otherwise somebody's: protocol assignments and Teredo, documentation, 6to4. */
const v6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
];

const closed = new BlockList();
for (const [net, bits] of v4) closed.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of v6) closed.addSubnet(net, bits, 'ipv6');

const global = new BlockList();
global.addSubnet('2000::', 3, 'ipv6');

/** Whether an address (not a name) is public. IPv4 inside IPv6, whether mapped, NAT64, 6to4 or ISATAP, never is. */
export function isPublic(address: string): boolean {
  const plain = address.split('%', 1)[0] as string;
  if (isIP(plain) === 4) return !closed.check(plain, 'ipv4');
  return isIP(plain) === 6 && global.check(plain, 'ipv6') && !closed.check(plain, 'ipv6') && !isIsatap(plain);
}

/** ISATAP: 5efe and an IPv4 address at the end, below any prefix; before it zeros, but for the bits that say who gave it. */
function isIsatap(address: string): boolean {
  const canonical = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? '';
  const [head = [], tail = []] = canonical.split('::').map((side) => side.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail].map((group) => Number.parseInt(group, 16));
  return groups[5] === 0x5efe && ((groups[4] as number) & 0xfcff) === 0;
}
