/* acknowledge.c: see acknowledge.h. */
#include "server/host/acknowledge.h"
#include "shared/base/check.h"

void acknowledge(SnapshotSender *sender, Budget *budget, const Acknowledgement *a, f64 *rtt_ms,
                 u64 now_ms)
{
    CHECK(a->at_ms <= now_ms);
    u32 lost = 0;
    SnapshotSenderStats before, after;
    snapshot_sender_stats(sender, &before);
    u32 acked = snapshot_sender_ack(sender, a->ack, &lost);
    snapshot_sender_stats(sender, &after);
    u16 sample_ms = (u16)((u16)a->at_ms - a->echo_ms);
    f64 sample = sample_ms < 5000 ? (f64)u32_max(sample_ms, 1) : 0.0;
    if (sample > 0.0) {
        *rtt_ms += (*rtt_ms > 0.0 ? 0.1 : 1.0) * (sample - *rtt_ms);
    }
    BudgetReport report = {.acked = acked,
                           .lost = lost,
                           .acked_bytes = (u32)(after.acked_bytes - before.acked_bytes),
                           .send_ms = a->send_ms,
                           .echo_ms = a->echo_ms,
                           .rtt_ms = sample};
    budget_feedback(budget, &report, now_ms);
}
