"""Rules implemented from other sources than their paper, which each docstring names."""

from regretkit.minimizers.contrib._adaptive import (
    AdaptiveAsymmetricRegretMatchingPlus as AdaptiveAsymmetricRegretMatchingPlus,
)
from regretkit.minimizers.contrib._adaptive import (
    AsymmetricRegretMatchingPlus as AsymmetricRegretMatchingPlus,
)
from regretkit.minimizers.contrib._adaptive import (
    HSDiscountedRegretMatching as HSDiscountedRegretMatching,
)
from regretkit.minimizers.contrib._adaptive import (
    IREGPredictiveRegretMatchingPlus as IREGPredictiveRegretMatchingPlus,
)
from regretkit.minimizers.contrib._adaptive import (
    VolatilityAdaptiveRegretMatching as VolatilityAdaptiveRegretMatching,
)
from regretkit.minimizers.contrib._smooth import (
    ExtragradientRegretMatchingPlus as ExtragradientRegretMatchingPlus,
)
from regretkit.minimizers.contrib._smooth import (
    SmoothOptimisticRegretMatchingPlus as SmoothOptimisticRegretMatchingPlus,
)
from regretkit.minimizers.contrib._smooth import (
    SmoothPredictiveRegretMatchingPlus as SmoothPredictiveRegretMatchingPlus,
)
from regretkit.minimizers.contrib._smooth import (
    StablePredictiveRegretMatchingPlus as StablePredictiveRegretMatchingPlus,
)
