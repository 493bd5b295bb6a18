"""Rules whose published source could not be read; the reference says what was checked of each."""

from regretkit.minimizers.contrib._adaptive import (
    AdaptiveAsymmetricRegretMatchingPlus as AdaptiveAsymmetricRegretMatchingPlus,
)
from regretkit.minimizers.contrib._adaptive import (
    AdaptivePredictionWeight as AdaptivePredictionWeight,
)
from regretkit.minimizers.contrib._adaptive import (
    AsymmetricRegretMatchingPlus as AsymmetricRegretMatchingPlus,
)
from regretkit.minimizers.contrib._adaptive import HSDiscounted as HSDiscounted
from regretkit.minimizers.contrib._adaptive import (
    HSDiscountedRegretMatching as HSDiscountedRegretMatching,
)
from regretkit.minimizers.contrib._adaptive import (
    IREGPredictiveRegretMatchingPlus as IREGPredictiveRegretMatchingPlus,
)
from regretkit.minimizers.contrib._adaptive import NormPreserving as NormPreserving
from regretkit.minimizers.contrib._smooth import ChoppedOrthant as ChoppedOrthant
from regretkit.minimizers.contrib._smooth import (
    ChoppedOrthantOptimistic as ChoppedOrthantOptimistic,
)
from regretkit.minimizers.contrib._smooth import (
    ExtragradientRegretMatchingPlus as ExtragradientRegretMatchingPlus,
)
from regretkit.minimizers.contrib._smooth import RestartAtFloor as RestartAtFloor
from regretkit.minimizers.contrib._smooth import SmoothedLink as SmoothedLink
from regretkit.minimizers.contrib._smooth import (
    SmoothOptimisticRegretMatchingPlus as SmoothOptimisticRegretMatchingPlus,
)
from regretkit.minimizers.contrib._smooth import (
    SmoothPredictiveRegretMatchingPlus as SmoothPredictiveRegretMatchingPlus,
)
from regretkit.minimizers.contrib._smooth import (
    StablePredictiveRegretMatchingPlus as StablePredictiveRegretMatchingPlus,
)
