/* admit.c: limits per address and site. */
#include "server/host/admit.h"

#include <stdlib.h>

Admit *admit_create(const AdmitLimits *limits)
{
    Admit *admit = calloc(1, sizeof *admit);
    if (admit != NULL) {
        admit->limits = *limits;
        seal_random(admit->key, sizeof admit->key);
    }
    return admit;
}

static bool is_exempt(const Admit *admit, NetAddress address)
{
    return !admit->limits.local && net_address_is_local(address);
}

/* Prefers free entries, then those not seen for the longest time. */
static bool is_older(const AdmitEntry *entry, const AdmitEntry *other)
{
    return other == NULL || (other->used && (!entry->used || entry->seen_ms < other->seen_ms));
}

/* The entry of a prefix: a new one replaces the one not seen for the longest time that has no users
 * and is not `kept` (in use by the caller). NULL: there is none. */
static AdmitEntry *entry_of(Admit *admit, NetPrefix prefix, f64 rate_minute, u64 now_ms,
                            const AdmitEntry *kept)
{
    AdmitEntry *set = admit->entries[seal_hash(admit->key, &prefix, sizeof prefix) % ADMIT_SETS];
    AdmitEntry *oldest = NULL;
    for (u32 i = 0; i < ADMIT_WAYS; i++) {
        AdmitEntry *entry = &set[i];
        if (entry->used && net_prefix_same(&entry->prefix, &prefix)) {
            entry->seen_ms = now_ms;
            return entry;
        }
        if (entry->users == 0 && entry != kept && is_older(entry, oldest)) {
            oldest = entry;
        }
    }
    if (oldest != NULL) {
        *oldest = (AdmitEntry){.prefix = prefix, .used = true, .seen_ms = now_ms};
        token_bucket_init(&oldest->joins, rate_minute / 60.0, rate_minute, now_ms);
    }
    return oldest;
}

static AdmitEntry *address_entry(Admit *admit, NetAddress address, u64 now_ms)
{
    return entry_of(admit, net_host_prefix(address), admit->limits.joins_minute, now_ms, NULL);
}

static AdmitEntry *site_entry(Admit *admit, NetAddress address, u64 now_ms, const AdmitEntry *own)
{
    f64 rate_minute = (f64)admit->limits.joins_minute * ADMIT_SITE_SHARE;
    return entry_of(admit, net_site(address), rate_minute, now_ms, own);
}

static bool takes_join(const Admit *admit, AdmitEntry *entry, u64 now_ms)
{
    return admit->limits.joins_minute == 0 || token_bucket_take(&entry->joins, 1.0, now_ms);
}

AdmitVerdict admit_try(Admit *admit, NetAddress address, u64 now_ms)
{
    const AdmitLimits *limits = &admit->limits;
    if (is_exempt(admit, address)) {
        return ADMIT_YES;
    }
    AdmitEntry *own = address_entry(admit, address, now_ms);
    AdmitEntry *site = site_entry(admit, address, now_ms, own);
    if (own == NULL || site == NULL || !takes_join(admit, own, now_ms) ||
        !takes_join(admit, site, now_ms)) {
        return ADMIT_TOO_OFTEN;
    }
    if (limits->per_address > 0 && own->users >= limits->per_address) {
        return ADMIT_ADDRESS_FULL;
    }
    return limits->per_site > 0 && site->users >= limits->per_site ? ADMIT_SITE_FULL : ADMIT_YES;
}

void admit_enter(Admit *admit, NetAddress address, u64 now_ms)
{
    AdmitEntry *own = address_entry(admit, address, now_ms);
    AdmitEntry *site = site_entry(admit, address, now_ms, own);
    if (own != NULL) {
        own->users++;
    }
    if (site != NULL) {
        site->users++;
    }
}

static void leave(AdmitEntry *entry)
{
    if (entry != NULL && entry->users > 0) {
        entry->users--;
    }
}

void admit_leave(Admit *admit, NetAddress address, u64 now_ms)
{
    AdmitEntry *own = address_entry(admit, address, now_ms);
    leave(own);
    leave(site_entry(admit, address, now_ms, own));
}

const char *admit_text(AdmitVerdict verdict)
{
    switch (verdict) {
    case ADMIT_ADDRESS_FULL:
        return "too many users from your address";
    case ADMIT_SITE_FULL:
        return "too many users from your network";
    case ADMIT_TOO_OFTEN:
        return "too many attempts to join: wait a minute";
    default:
        return "";
    }
}
