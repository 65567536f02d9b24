// Which IP addresses belong to the public internet. Others are refused: a page must not lead a tool to the user's machine, to its local network or to the
// metadata service of a cloud. The ranges are IANA's registries of special-purpose IPv4 and IPv6 addresses.
import { BlockList, isIP } from 'node:net';

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
  // The metadata address of Azure, the only one that looks public.
  ['168.63.129.16', 32],
];

/** Exceptions in 2000::/3, which is otherwise public: protocol assignments and Teredo, documentation, 6to4. */
const v6: [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
];

/** Made at first use, because most runs fetch nothing. */
let lists: { special: BlockList; global: BlockList } | null = null;

function createLists(): { special: BlockList; global: BlockList } {
  const special = new BlockList();
  for (const [net, bits] of v4) special.addSubnet(net, bits, 'ipv4');
  for (const [net, bits] of v6) special.addSubnet(net, bits, 'ipv6');
  const global = new BlockList();
  global.addSubnet('2000::', 3, 'ipv6');
  return { special, global };
}

/** For an IP address, not a name. IPv4 embedded in IPv6 (mapped, NAT64, 6to4 or ISATAP) is never public. */
export function isPublicAddress(address: string): boolean {
  lists ??= createLists();
  const { special, global } = lists;
  const plain = address.split('%', 1)[0] as string;
  if (isIP(plain) === 4) return !special.check(plain, 'ipv4');
  return isIP(plain) === 6 && global.check(plain, 'ipv6') && !special.check(plain, 'ipv6') && !isIsatap(plain);
}

/** Whether an IP address is one of `others`, in any spelling. */
export function isSameAddress(address: string, others: readonly string[]): boolean {
  const list = new BlockList();
  const family = (each: string) => (isIP(each) === 6 ? 'ipv6' : 'ipv4');
  const plain = (each: string) => each.split('%', 1)[0] as string;
  for (const other of others.map(plain)) if (isIP(other) !== 0) list.addAddress(other, family(other));
  return isIP(plain(address)) !== 0 && list.check(plain(address), family(plain(address)));
}

/** ISATAP: 5efe and an IPv4 address at the end of any prefix, preceded by zeros except for two flag bits. */
function isIsatap(address: string): boolean {
  const canonical = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1) ?? '';
  const [head = [], tail = []] = canonical.split('::').map((side) => side.split(':').filter((group) => group !== ''));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail].map((group) => Number.parseInt(group, 16));
  return groups[5] === 0x5efe && ((groups[4] as number) & 0xfcff) === 0;
}
